package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"sluice/paimon/internal/ocf"
)

// decoder takes records from the blocks of a file. Values it makes share memory
// with the blocks and with each other.
type decoder struct {
	ocf.Decoder
	version int32

	counts  []int64 // memory for null counts
	longs   []int64 // memory for optional numbers
	ints    []int32
	lists   [3]memoStrings // by field: neighbours mostly have equal lists
	sources *[2]FileSource
	err     error // about a field, rather than about bytes
}

// memoStrings is the list that a field had last, with its bytes in the file.
type memoStrings struct {
	raw  []byte
	list []string
}

// decodeFile runs each over the records of a file.
func decodeFile(kind recordKind, data []byte, each func(d *decoder, steps []step) error) error {
	r, err := ocf.NewBytesReader(data)
	if err != nil {
		return wrap(err)
	}
	p, err := programFor(kind, r.SchemaText())
	if err != nil {
		return wrap(err)
	}
	var d decoder
	for record := 0; ; {
		block, err := r.NextOwned()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return wrap(err)
		}
		d.Reset(block.Data)
		for range block.Count {
			if p.null >= 0 && d.Branch(2) == int(p.null) {
				d.fail("(top level)", "is null")
			}
			err := each(&d, p.steps)
			if d.err == nil {
				d.err = d.Err()
			}
			if d.err != nil {
				return fmt.Errorf("record %d: %w", record, wrap(d.err))
			}
			if err != nil {
				return err
			}
			record++
		}
		if d.Len() != 0 {
			return fmt.Errorf("record %d: %d bytes are left in the block: %w", record, d.Len(), ErrCorrupt)
		}
	}
}

// wrap gives errors about bytes the sentinel of this package.
func wrap(err error) error {
	if errors.Is(err, ocf.ErrCorrupt) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

func (d *decoder) fail(field, reason string) {
	if d.err == nil {
		d.err = &FieldError{Field: field, Reason: reason}
	}
	d.Fail("field %s %s", field, reason)
}

// present takes the branch of an optional field.
func (d *decoder) present(s *step) bool {
	if s.null < 0 || d.Branch(2) != int(s.null) {
		return true
	}
	if s.required {
		d.fail(s.name, "is null")
	}
	return false
}

// text takes a string. It shares the memory of the block, which never changes.
func (d *decoder) text() string {
	b := d.Bytes()
	return unsafe.String(unsafe.SliceData(b), len(b))
}

func (d *decoder) strings(s *step, memo *memoStrings) []string {
	start := d.Pos()
	n := 0
	for c := d.Count(); c > 0 && d.Err() == nil; c = d.Count() {
		for range c {
			if s.itemNull >= 0 && d.Branch(2) == int(s.itemNull) {
				d.fail(s.name, "holds a null")
			}
			d.Bytes()
			n++
		}
	}
	raw := d.Since(start)
	if d.Err() != nil {
		return nil
	}
	if memo.list != nil && bytes.Equal(raw, memo.raw) {
		return memo.list
	}
	list := make([]string, 0, n)
	var again decoder
	again.Reset(raw)
	for c := again.Count(); c > 0; c = again.Count() {
		for range c {
			if s.itemNull >= 0 {
				again.Branch(2)
			}
			list = append(list, again.text())
		}
	}
	memo.raw, memo.list = raw, list
	return list
}

func (d *decoder) numbers(s *step) []int64 {
	list := []int64{}
	for c := d.Count(); c > 0 && d.Err() == nil; c = d.Count() {
		for range c {
			if s.itemNull >= 0 && d.Branch(2) == int(s.itemNull) {
				d.fail(s.name, "holds a null")
			}
			list = append(list, d.Long())
		}
	}
	return list
}

// nullCounts takes an array of numbers that may be null, which is -1.
func (d *decoder) nullCounts(s *step) []int64 {
	if cap(d.counts)-len(d.counts) < 256 {
		d.counts = make([]int64, 0, 2048)
	}
	at := len(d.counts)
	for c := d.Count(); c > 0 && d.Err() == nil; c = d.Count() {
		for range c {
			n := int64(-1)
			if s.itemNull < 0 || d.Branch(2) != int(s.itemNull) {
				n = d.Long()
			}
			d.counts = append(d.counts, n)
		}
	}
	return d.counts[at:len(d.counts):len(d.counts)]
}

func (d *decoder) long() *int64 {
	v := d.Long()
	if n := len(d.longs); n > 0 && d.longs[n-1] == v {
		return &d.longs[n-1]
	}
	if len(d.longs) == cap(d.longs) {
		d.longs = make([]int64, 0, 128)
	}
	d.longs = append(d.longs, v)
	return &d.longs[len(d.longs)-1]
}

func (d *decoder) int() *int32 {
	v := d.Int()
	if n := len(d.ints); n > 0 && d.ints[n-1] == v {
		return &d.ints[n-1]
	}
	if len(d.ints) == cap(d.ints) {
		d.ints = make([]int32, 0, 128)
	}
	d.ints = append(d.ints, v)
	return &d.ints[len(d.ints)-1]
}

func (d *decoder) source() *FileSource {
	v := d.Int()
	if v != int32(SourceAppend) && v != int32(SourceCompact) {
		d.fail("_FILE_SOURCE", fmt.Sprintf("is %d", v))
		return nil
	}
	if d.sources == nil {
		d.sources = &[2]FileSource{SourceAppend, SourceCompact}
	}
	return &d.sources[v]
}

func (d *decoder) kind() EntryKind {
	v := d.Int()
	if v != int32(Add) && v != int32(Delete) {
		d.fail("_KIND", fmt.Sprintf("is %d", v))
	}
	return EntryKind(v)
}

func (d *decoder) checkVersion(what string, want int32) error {
	if d.err == nil && d.Err() == nil && d.version != want {
		return &VersionError{What: what, Got: d.version, Want: want}
	}
	return nil
}

// DecodeEntries calls fn for each entry of a manifest, in order, and stops at the
// first error of fn, which it returns. The entry is overwritten by the next one;
// a copy of the struct stays valid, and keeps the block of the manifest that it
// came from in memory: see [Entry.Clone].
//
// Errors about the content wrap [ErrCorrupt] or are a [*VersionError] or a
// [*FieldError].
func DecodeEntries(data []byte, fn func(*Entry) error) error {
	var e Entry
	return decodeFile(entryRecord, data, func(d *decoder, steps []step) error {
		e = Entry{}
		d.entry(&e, steps)
		if err := d.checkVersion("manifest entry", entryVersion); err != nil {
			return err
		}
		if d.err != nil || d.Err() != nil {
			return nil // decodeFile says so
		}
		return fn(&e)
	})
}

// ReadEntries returns all entries of a manifest.
func ReadEntries(data []byte) ([]Entry, error) {
	var entries []Entry
	err := DecodeEntries(data, func(e *Entry) error {
		entries = append(entries, *e)
		return nil
	})
	return entries, err
}

// DecodeList returns the entries of a manifest list.
func DecodeList(data []byte) ([]Meta, error) {
	var metas []Meta
	err := decodeFile(metaRecord, data, func(d *decoder, steps []step) error {
		var m Meta
		d.meta(&m, steps)
		metas = append(metas, m)
		return d.checkVersion("manifest list", listVersion)
	})
	if err != nil {
		return nil, err
	}
	return metas, nil
}

// DecodeIndex returns the entries of an index manifest.
func DecodeIndex(data []byte) ([]IndexEntry, error) {
	var entries []IndexEntry
	err := decodeFile(indexRecord, data, func(d *decoder, steps []step) error {
		var e IndexEntry
		d.index(&e, steps)
		entries = append(entries, e)
		return d.checkVersion("index manifest", indexVersion)
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}
