package paimon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/objstore"
	"sluice/paimon/rowdata"
)

// evolution is a schema on its way to its next version.
type evolution struct {
	old          *Schema
	next         *Schema // a copy of old that changes are applied to
	hasSnapshots bool
	branches     []string
}

// Alter applies changes to the branch's newest schema, all of them in one new
// version or none, and returns it; see [Catalog.AlterTable].
func (t *Table) Alter(ctx context.Context, changes []Change) (*Schema, error) {
	for range schemaRetriesMax {
		old, err := t.ReloadSchema(ctx)
		if err != nil {
			return nil, err
		}
		next, err := t.evolve(ctx, old, changes)
		if err != nil || next == old {
			return old, err
		}
		data, err := next.Marshal()
		if err != nil {
			return nil, err
		}
		err = createObject(ctx, t.Store, t.SchemaPath(next.ID), data)
		if errors.Is(err, objstore.ErrExists) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("write schema %d of table %s: %w", next.ID, t.Path, err)
		}
		return t.ReloadSchema(ctx)
	}
	return nil, fmt.Errorf("table %s: %d tries to write a schema: %w", t.Path, schemaRetriesMax, ErrTooManyRetries)
}

func (t *Table) evolve(ctx context.Context, old *Schema, changes []Change) (*Schema, error) {
	has := true
	if _, err := t.LatestID(ctx); errors.Is(err, ErrNoSnapshot) {
		has = false
	} else if err != nil {
		return nil, err
	}
	branches, err := t.Branches(ctx)
	if err != nil {
		return nil, err
	}
	return Evolve(old, changes, EvolveOptions{HasSnapshots: has, Branches: branches, TimeMillis: t.opts.Now().UnixMilli()})
}

// EvolveOptions tell what a change of a schema depends on beside the schema.
type EvolveOptions struct {
	HasSnapshots bool     // some options may not change any more
	Branches     []string // that options may name
	TimeMillis   int64    // of the new version
}

// Evolve returns the version after old with the changes applied in order and
// checked; old itself if there are no changes.
func Evolve(old *Schema, changes []Change, o EvolveOptions) (*Schema, error) {
	if len(changes) == 0 {
		return old, nil
	}
	e := &evolution{old: old, next: old.clone(), hasSnapshots: o.HasSnapshots, branches: o.Branches}
	e.next.Version, e.next.ID, e.next.TimeMillis = SchemaVersion, old.ID+1, o.TimeMillis
	for _, c := range changes {
		if err := c.apply(e); err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
	}
	if err := e.next.settle(); err != nil {
		return nil, err
	}
	return e.next, nil
}

// editFields replaces the fields that the last step of the path is a member of
// by what fn makes of a copy of them, and rebuilds the types on the way.
func editFields(fields []rowdata.Field, path []string, fn func(fields []rowdata.Field) ([]rowdata.Field, error)) ([]rowdata.Field, error) {
	fields = slices.Clone(fields)
	if len(path) == 1 {
		return fn(fields)
	}
	i := indexField(fields, path[0])
	if i < 0 {
		return nil, noColumn(path[:1])
	}
	t, err := editType(fields[i].Type, path[1:], fn)
	if err != nil {
		return nil, err
	}
	fields[i].Type = t
	return fields, nil
}

// editType follows the path into a type; its last step names a member of a row.
func editType(t *rowdata.Type, path []string, fn func([]rowdata.Field) ([]rowdata.Field, error)) (*rowdata.Type, error) {
	c := *t
	var err error
	switch {
	case t.Root == rowdata.Row:
		c.Fields, err = editFields(t.Fields, path, fn)
	case len(path) > 1 && isStep(t, path[0]):
		c.Elem, err = editType(t.Elem, path[1:], fn)
	default:
		return nil, badStep(t, path[0])
	}
	return &c, err
}

// editAt replaces the type that the path leads to, be it of a member or of the
// elements of an array or the values of a map.
func editAt(fields []rowdata.Field, path []string, fn func(*rowdata.Type) (*rowdata.Type, error)) ([]rowdata.Field, error) {
	fields = slices.Clone(fields)
	i := indexField(fields, path[0])
	if i < 0 {
		return nil, noColumn(path[:1])
	}
	t, err := editTypeAt(fields[i].Type, path[1:], fn)
	if err != nil {
		return nil, err
	}
	fields[i].Type = t
	return fields, nil
}

func editTypeAt(t *rowdata.Type, path []string, fn func(*rowdata.Type) (*rowdata.Type, error)) (*rowdata.Type, error) {
	if len(path) == 0 {
		return fn(t)
	}
	c := *t
	var err error
	switch {
	case t.Root == rowdata.Row:
		c.Fields, err = editAt(t.Fields, path, fn)
	case isStep(t, path[0]):
		c.Elem, err = editTypeAt(t.Elem, path[1:], fn)
	default:
		return nil, badStep(t, path[0])
	}
	return &c, err
}

// isStep tells whether the name leads from a type to its elements or values.
func isStep(t *rowdata.Type, name string) bool {
	switch t.Root {
	case rowdata.Array, rowdata.Multiset, rowdata.Vec:
		return name == "element"
	case rowdata.Map:
		return name == "value"
	}
	return false
}

func badStep(t *rowdata.Type, name string) error {
	want := "has no members"
	switch t.Root {
	case rowdata.Array, rowdata.Multiset, rowdata.Vec:
		want = "wants the step 'element'"
	case rowdata.Map:
		want = "wants the step 'value'"
	}
	return refuseColumn(name, "Column %s cannot be reached: the type %s %s.", name, t, want)
}

func noColumn(path []string) error {
	name := strings.Join(path, ".")
	return refuseColumn(name, "Column %s does not exist in the table.", name)
}

func hasColumn(path []string) error {
	name := strings.Join(path, ".")
	return refuseColumn(name, "Column %s already exists in the table.", name)
}

func indexField(fields []rowdata.Field, name string) int {
	return slices.IndexFunc(fields, func(f rowdata.Field) bool { return f.Name == name })
}

// editField replaces one field by what fn makes of it.
func (e *evolution) editField(path []string, fn func(*rowdata.Field) error) error {
	fields, err := editFields(e.next.Fields, path, func(fields []rowdata.Field) ([]rowdata.Field, error) {
		i := indexField(fields, path[len(path)-1])
		if i < 0 {
			return nil, noColumn(path)
		}
		return fields, fn(&fields[i])
	})
	if err == nil {
		e.next.Fields = fields
	}
	return err
}

// isTop tells whether the path names a column of one of these keys.
func isTop(path, keys []string) bool { return len(path) == 1 && slices.Contains(keys, path[0]) }

func (e *evolution) checkPath(path []string) error {
	if len(path) == 0 || slices.Contains(path, "") {
		return refuse("The path %q of a column has an empty step.", strings.Join(path, "."))
	}
	return nil
}
