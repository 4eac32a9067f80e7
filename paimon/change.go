package paimon

import (
	"fmt"
	"strings"

	"sluice/paimon/rowdata"
)

// Change is one change of a table's definition (format section 2.5). Its text is
// what [ParseChange] reads.
//
// Columns are named by paths: one name for a column of the table, further ones
// for members of rows, with the step "element" into an array and "value" into a
// map.
type Change interface {
	fmt.Stringer
	apply(e *evolution) error
}

// MoveKind says where a column goes.
type MoveKind uint8

// The places of a column among its siblings.
const (
	MoveNone   MoveKind = iota // new columns: last
	MoveFirst                  // before all
	MoveLast                   // behind all
	MoveAfter                  // behind another
	MoveBefore                 // before another
)

// Move is a place among the columns; Ref is the other column's name.
type Move struct {
	Kind MoveKind
	Ref  string
}

// The changes.
type (
	// AddColumn adds a nullable column; rows from before read NULL in it.
	AddColumn struct {
		Path        []string
		Type        *rowdata.Type
		Description string
		Default     *string
		Move        Move
	}
	// RenameColumn gives a column another name, also where keys and options name it.
	RenameColumn struct {
		Path []string
		To   string
	}
	// DropColumn removes a column.
	DropColumn struct {
		Path []string
	}
	// ChangeColumnType gives a column another type, to which its values are cast
	// when they are read.
	ChangeColumnType struct {
		Path            []string
		Type            *rowdata.Type
		KeepNullability bool // the nullability of Type does not count
	}
	// ChangeColumnNullability makes a column nullable or not.
	ChangeColumnNullability struct {
		Path     []string
		Nullable bool
	}
	// ChangeColumnComment gives a column another comment.
	ChangeColumnComment struct {
		Path    []string
		Comment string
	}
	// ChangeColumnDefault gives a column another default for NULLs that are
	// written; nil: none.
	ChangeColumnDefault struct {
		Path    []string
		Default *string
	}
	// MoveColumn moves a column of the table.
	MoveColumn struct {
		Path []string
		Move Move
	}
	// SetOption sets an option.
	SetOption struct {
		Key, Value string
	}
	// ResetOption removes an option.
	ResetOption struct {
		Key string
	}
	// ChangeComment gives the table another comment; nil: none.
	ChangeComment struct {
		Comment *string
	}
	// DropPrimaryKey makes an append table of a table without snapshots.
	DropPrimaryKey struct{}
)

// String returns the text of the move: "FIRST", "AFTER y", or "".
func (m Move) String() string {
	switch m.Kind {
	case MoveFirst:
		return "FIRST"
	case MoveLast:
		return "LAST"
	case MoveAfter:
		return "AFTER " + quoteName(m.Ref)
	case MoveBefore:
		return "BEFORE " + quoteName(m.Ref)
	}
	return ""
}

func pathText(path []string) string {
	var b strings.Builder
	for i, p := range path {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(quoteName(p))
	}
	return b.String()
}

// String returns the text of the change.
func (c AddColumn) String() string {
	s := "ADD COLUMN " + pathText(c.Path) + " " + c.Type.String()
	if c.Default != nil {
		s += " DEFAULT " + quoteText(*c.Default)
	}
	if c.Description != "" {
		s += " COMMENT " + quoteText(c.Description)
	}
	if c.Move.Kind != MoveNone {
		s += " " + c.Move.String()
	}
	return s
}

// String returns the text of the change.
func (c RenameColumn) String() string {
	return "RENAME COLUMN " + pathText(c.Path) + " TO " + quoteName(c.To)
}

// String returns the text of the change.
func (c DropColumn) String() string { return "DROP COLUMN " + pathText(c.Path) }

// String returns the text of the change.
func (c ChangeColumnType) String() string {
	s := "ALTER COLUMN " + pathText(c.Path) + " TYPE " + c.Type.String()
	if !c.KeepNullability && !c.Type.NotNull {
		s += " NULL"
	}
	return s
}

// String returns the text of the change.
func (c ChangeColumnNullability) String() string {
	if c.Nullable {
		return "ALTER COLUMN " + pathText(c.Path) + " NULLABLE"
	}
	return "ALTER COLUMN " + pathText(c.Path) + " NOT NULL"
}

// String returns the text of the change.
func (c ChangeColumnComment) String() string {
	return "ALTER COLUMN " + pathText(c.Path) + " COMMENT " + quoteText(c.Comment)
}

// String returns the text of the change.
func (c ChangeColumnDefault) String() string {
	if c.Default == nil {
		return "ALTER COLUMN " + pathText(c.Path) + " DROP DEFAULT"
	}
	return "ALTER COLUMN " + pathText(c.Path) + " DEFAULT " + quoteText(*c.Default)
}

// String returns the text of the change.
func (c MoveColumn) String() string {
	return "ALTER COLUMN " + pathText(c.Path) + " " + c.Move.String()
}

// String returns the text of the change.
func (c SetOption) String() string { return "SET OPTION " + c.Key + "=" + c.Value }

// String returns the text of the change.
func (c ResetOption) String() string { return "RESET OPTION " + c.Key }

// String returns the text of the change.
func (c ChangeComment) String() string {
	if c.Comment == nil {
		return "DROP COMMENT"
	}
	return "COMMENT " + quoteText(*c.Comment)
}

// String returns the text of the change.
func (DropPrimaryKey) String() string { return "DROP PRIMARY KEY" }
