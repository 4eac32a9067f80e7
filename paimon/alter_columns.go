package paimon

import (
	"slices"
	"strings"

	"sluice/paimon/rowdata"
)

func (c AddColumn) apply(e *evolution) error {
	if err := e.checkPath(c.Path); err != nil {
		return err
	}
	name := c.Path[len(c.Path)-1]
	if c.Type.NotNull {
		return refuseColumn(pathText(c.Path), "Column %s cannot specify NOT NULL in the table.", strings.Join(c.Path, "."))
	}
	fields, err := editFields(e.next.Fields, c.Path, func(fields []rowdata.Field) ([]rowdata.Field, error) {
		if indexField(fields, name) >= 0 {
			return nil, hasColumn(c.Path)
		}
		e.next.HighestFieldID++
		f := rowdata.Field{ID: e.next.HighestFieldID, Name: name, Description: c.Description, Default: c.Default}
		f.Type = assignIDs(c.Type, &e.next.HighestFieldID)
		move := c.Move
		if move.Kind == MoveNone && len(c.Path) == 1 {
			before, err := e.beforePartition()
			if err != nil {
				return nil, err
			}
			if before != "" {
				move = Move{Kind: MoveBefore, Ref: before}
			}
		}
		return insertField(fields, f, move)
	})
	if err == nil {
		e.next.Fields = fields
	}
	return err
}

// beforePartition returns the first partition column if new columns go there.
func (e *evolution) beforePartition() (string, error) {
	before, err := e.next.Options.Bool(OptAddColumnBeforePartition)
	if err != nil || !before {
		return "", err
	}
	for i := range e.next.Fields {
		if slices.Contains(e.next.PartitionKeys, e.next.Fields[i].Name) {
			return e.next.Fields[i].Name, nil
		}
	}
	return "", nil
}

func insertField(fields []rowdata.Field, f rowdata.Field, m Move) ([]rowdata.Field, error) {
	at := len(fields)
	switch m.Kind {
	case MoveFirst:
		at = 0
	case MoveAfter, MoveBefore:
		ref := indexField(fields, m.Ref)
		if ref < 0 {
			return nil, noColumn([]string{m.Ref})
		}
		at = ref
		if m.Kind == MoveAfter {
			at++
		}
	}
	return slices.Insert(fields, at, f), nil
}

func (c MoveColumn) apply(e *evolution) error {
	if err := e.checkPath(c.Path); err != nil {
		return err
	}
	name := c.Path[len(c.Path)-1]
	fields, err := editFields(e.next.Fields, c.Path, func(fields []rowdata.Field) ([]rowdata.Field, error) {
		i := indexField(fields, name)
		switch {
		case i < 0:
			return nil, refuseColumn(name, "Field name not found: %s", name)
		case c.Move.Kind >= MoveAfter && indexField(fields, c.Move.Ref) < 0:
			return nil, refuseColumn(c.Move.Ref, "Reference field name not found: %s", c.Move.Ref)
		case c.Move.Ref == name:
			return nil, refuseColumn(name, "Cannot move itself for column %s", name)
		}
		f := fields[i]
		return insertField(slices.Delete(fields, i, i+1), f, c.Move)
	})
	if err == nil {
		e.next.Fields = fields
	}
	return err
}

func (c DropColumn) apply(e *evolution) error {
	if err := e.checkPath(c.Path); err != nil {
		return err
	}
	if isTop(c.Path, e.next.PartitionKeys) || isTop(c.Path, e.next.PrimaryKeys) {
		return refuseColumn(c.Path[0], "Cannot drop partition key or primary key: [%s]", c.Path[0])
	}
	name := c.Path[len(c.Path)-1]
	fields, err := editFields(e.next.Fields, c.Path, func(fields []rowdata.Field) ([]rowdata.Field, error) {
		i := indexField(fields, name)
		switch {
		case i < 0:
			return nil, noColumn(c.Path)
		case len(fields) == 1:
			return nil, refuseColumn(name, "Cannot drop all fields in table: %s is the last one", name)
		}
		return slices.Delete(fields, i, i+1), nil
	})
	if err == nil {
		e.next.Fields = fields
	}
	return err
}

func (c RenameColumn) apply(e *evolution) error {
	if err := e.checkPath(c.Path); err != nil {
		return err
	}
	name := c.Path[len(c.Path)-1]
	if isTop(c.Path, e.next.PartitionKeys) {
		return refuseColumn(name, "Cannot rename partition column: [%s]", name)
	}
	fields, err := editFields(e.next.Fields, c.Path, func(fields []rowdata.Field) ([]rowdata.Field, error) {
		i := indexField(fields, name)
		switch {
		case i < 0:
			return nil, noColumn(c.Path)
		case indexField(fields, c.To) >= 0:
			return nil, hasColumn(append(slices.Clone(c.Path[:len(c.Path)-1]), c.To))
		case fields[i].Type.Root == rowdata.Blob:
			return nil, refuseColumn(name, "Cannot rename BLOB column: [%s]", name)
		}
		fields[i].Name = c.To
		return fields, nil
	})
	if err != nil {
		return err
	}
	e.next.Fields = fields
	if len(c.Path) == 1 {
		e.renameInKeys(name, c.To)
		e.renameInOptions(name, c.To)
	}
	return nil
}

func (e *evolution) renameInKeys(from, to string) {
	for i, k := range e.next.PrimaryKeys {
		if k == from {
			e.next.PrimaryKeys[i] = to
		}
	}
}

// columnOptions are the options whose values are names of columns.
var columnOptions = []string{
	OptBucketKey, OptSequenceField, OptRowKindField, OptRecordLevelTimeField, OptPartialUpdateRemoveOnGroup,
	OptChangelogRowDeduplicateIgnore,
}

// renameInOptions rewrites the options that name the column: in their value, or
// in their own name if it begins with fields.
func (e *evolution) renameInOptions(from, to string) {
	o := e.next.Options
	for _, key := range columnOptions {
		if v, ok := o[key]; ok {
			o[key] = renameInList(v, from, to)
		}
	}
	for _, key := range sortedKeys(o) {
		names, suffix, ok := cutFieldsOption(key)
		if !ok {
			continue
		}
		value := o[key]
		if suffix == "sequence-group" || suffix == "nested-key" {
			value = renameInList(value, from, to)
		}
		delete(o, key)
		o[fieldsPrefix+renameInList(names, from, to)+"."+suffix] = value
	}
}

// fieldsSuffixes are the options of single columns; the name of a column may
// have dots itself, so the suffix decides where it ends.
var fieldsSuffixes = []string{
	"aggregate-function", "ignore-retract", "distinct", "list-agg-delimiter", "sequence-group", "nested-key",
	"nested-key-null-strategy", "nested-sequence-field", "count-limit", "ts-field", "stats-mode",
}

// cutFieldsOption splits fields.<names>.<suffix>.
func cutFieldsOption(key string) (names, suffix string, ok bool) {
	rest, ok := strings.CutPrefix(key, fieldsPrefix)
	if !ok {
		return "", "", false
	}
	for _, suffix := range fieldsSuffixes {
		if names, ok := strings.CutSuffix(rest, "."+suffix); ok && names != "" {
			return names, suffix, true
		}
	}
	return "", "", false
}

// renameInList replaces a name in a comma separated list and keeps the blanks.
func renameInList(list, from, to string) string {
	parts := strings.Split(list, ",")
	for i, p := range parts {
		if strings.TrimSpace(p) == from {
			parts[i] = strings.Replace(p, from, to, 1)
		}
	}
	return strings.Join(parts, ",")
}

func (c ChangeColumnType) apply(e *evolution) error {
	if err := e.checkPath(c.Path); err != nil {
		return err
	}
	name := c.Path[len(c.Path)-1]
	switch {
	case isTop(c.Path, e.next.PartitionKeys):
		return refuseColumn(name, "Cannot update partition column: [%s]", name)
	case isTop(c.Path, e.next.PrimaryKeys):
		return refuseColumn(name, "Cannot update primary key: [%s]", name)
	}
	implicitOnly, err := e.next.Options.Bool(OptDisableExplicitTypeCasting)
	if err != nil {
		return err
	}
	fields, err := editAt(e.next.Fields, c.Path, func(t *rowdata.Type) (*rowdata.Type, error) {
		to := *c.Type
		if c.KeepNullability {
			to.NotNull = t.NotNull
		} else if err := e.checkNullability(c.Path, t, !to.NotNull); err != nil {
			return nil, err
		}
		if to.AsNotNull().String() == t.AsNotNull().String() {
			// Nothing but the nullability: members keep their ids.
			if to.NotNull {
				return t.AsNotNull(), nil
			}
			return t.Nullable(), nil
		}
		// Members of the same constructed type are changed one by one, and the original
		// does not read a TIME of one precision as one of another.
		if t.Root == to.Root && (t.IsNested() || t.Root == rowdata.Time) || !rowdata.CanCast(t, &to, !implicitOnly) {
			return nil, refuseColumn(name, "Column type %s[%s] cannot be converted to %s without loosing information.", name, t, &to)
		}
		return assignIDs(&to, &e.next.HighestFieldID), nil
	})
	if err == nil {
		e.next.Fields = fields
	}
	return err
}

// checkNullability refuses to make a nullable column NOT NULL unless the table
// allows it.
func (e *evolution) checkNullability(path []string, t *rowdata.Type, nullable bool) error {
	if nullable || t.NotNull {
		return nil
	}
	disabled, err := e.next.Options.Bool(OptAlterNullToNotNullDisabled)
	if err != nil || !disabled {
		return err
	}
	return refuseColumn(path[len(path)-1], "Cannot update column type from nullable to non nullable for %s. You can set table configuration option 'alter-column-null-to-not-null.disabled' = 'false' to allow converting null columns to not null", strings.Join(path, "."))
}

func (c ChangeColumnNullability) apply(e *evolution) error {
	if err := e.checkPath(c.Path); err != nil {
		return err
	}
	if c.Nullable && isTop(c.Path, e.next.PrimaryKeys) {
		return refuseColumn(c.Path[0], "Cannot change nullability of primary key: [%s]", c.Path[0])
	}
	fields, err := editAt(e.next.Fields, c.Path, func(t *rowdata.Type) (*rowdata.Type, error) {
		if err := e.checkNullability(c.Path, t, c.Nullable); err != nil {
			return nil, err
		}
		if c.Nullable {
			return t.Nullable(), nil
		}
		return t.AsNotNull(), nil
	})
	if err == nil {
		e.next.Fields = fields
	}
	return err
}

func (c ChangeColumnComment) apply(e *evolution) error {
	if err := e.checkPath(c.Path); err != nil {
		return err
	}
	return e.editField(c.Path, func(f *rowdata.Field) error {
		f.Description = c.Comment
		return nil
	})
}

func (c ChangeColumnDefault) apply(e *evolution) error {
	if err := e.checkPath(c.Path); err != nil {
		return err
	}
	return e.editField(c.Path, func(f *rowdata.Field) error {
		f.Default = c.Default
		return nil
	})
}
