package faultstore

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"sluice/objstore"
)

// ErrInjected is the error of a call that a rule without an error of its own let
// fail.
var ErrInjected = errors.New("injected failure")

// Op is a kind of call.
type Op uint8

// The kinds of calls. Write, Finish and Abort are those of a Writer, Read is
// that of a Reader.
const (
	Open Op = iota + 1
	Read
	Create
	Write
	Finish
	Abort
	Put
	PutIfAbsent
	Stat
	List // List, ListDir and ListTemp
	Delete
	DeleteDir // DeleteDir and DeleteEmptyDir
	RenameDir
	MkdirAll
	DirExists
)

var opText = [...]string{
	"", "open", "read", "create", "write", "finish", "abort", "put", "put-if-absent", "stat", "list",
	"delete", "delete-dir", "rename-dir", "mkdir-all", "dir-exists",
}

// String returns the name of the call.
func (o Op) String() string {
	if int(o) < len(opText) {
		return opText[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// Mutates tells whether a call of this kind changes the store.
func (o Op) Mutates() bool {
	switch o {
	case Finish, Put, PutIfAbsent, Delete, DeleteDir, RenameDir, MkdirAll:
		return true
	}
	return false
}

// Mode is the way in which a call fails.
type Mode uint8

// The ways to fail.
const (
	FailBefore  Mode = iota // nothing happens, and the call returns an error
	FailAfter               // the effect happens, and the call returns an error
	Torn                    // half of the bytes are there, and the call returns an error; see [Store]
	StaleList               // a list hides what is newest, without an error
	DeletedList             // a list shows again what was deleted through this store, without an error
	Pass                    // nothing fails: the rule only calls its hook
)

var modeText = [...]string{"fail-before", "fail-after", "torn", "stale-list", "deleted-list", "pass"}

// String returns the name of the mode.
func (m Mode) String() string {
	if int(m) < len(modeText) {
		return modeText[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// Call is one call of the store.
type Call struct {
	Number int // counted from 1 over all calls
	Op     Op
	Name   string // the object or folder
}

// String returns number, kind and name.
func (c Call) String() string { return fmt.Sprintf("call %d, %s %s", c.Number, c.Op, c.Name) }

// Rule selects calls and says how they fail. A zero field selects everything;
// fields that are set must all agree.
type Rule struct {
	Call int    // the call with this number
	Ops  []Op   // calls of these kinds
	Name string // calls whose last segment matches this path.Match pattern

	Skip  int // of the selected calls leave out so many first
	Times int // and then take so many; 0: all

	Mode Mode
	Err  error // what the call returns; nil is [ErrInjected]

	// HideNewest is how many objects a StaleList leaves out.
	HideNewest int

	// Hook, if set, runs before anything else of the call, outside of any lock:
	// a test can block there, or let somebody else win a race.
	Hook func(Call)
}

// matches tells whether the rule selects a call, apart from Skip and Times.
func (r *Rule) matches(c Call) bool {
	if r.Call != 0 && r.Call != c.Number || len(r.Ops) > 0 && !slices.Contains(r.Ops, c.Op) {
		return false
	}
	if r.Name == "" {
		return true
	}
	_, base := objstore.SplitName(c.Name)
	ok, err := path.Match(r.Name, base)
	return ok && err == nil
}

func (r *Rule) err(c Call) error {
	err := r.Err
	if err == nil {
		err = ErrInjected
	}
	return fmt.Errorf("%s, %s: %w", c, r.Mode, err)
}
