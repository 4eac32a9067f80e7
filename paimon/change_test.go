package paimon

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon/rowdata"
)

func TestParseChange(t *testing.T) {
	i32, big := &rowdata.Type{Root: rowdata.Int}, &rowdata.Type{Root: rowdata.BigInt}
	for text, want := range map[string]Change{
		"add column x INT":                            AddColumn{Path: []string{"x"}, Type: i32},
		"ADD  Column r.x INT COMMENT 'c' FIRST":       AddColumn{Path: []string{"r", "x"}, Type: i32, Description: "c", Move: Move{Kind: MoveFirst}},
		"add column x INT DEFAULT '5' after y":        AddColumn{Path: []string{"x"}, Type: i32, Default: ptr("5"), Move: Move{MoveAfter, "y"}},
		"add column x INT before `y z`":               AddColumn{Path: []string{"x"}, Type: i32, Move: Move{MoveBefore, "y z"}},
		"add column x INT last":                       AddColumn{Path: []string{"x"}, Type: i32, Move: Move{Kind: MoveLast}},
		"add column x INT COMMENT 'after all first'":  AddColumn{Path: []string{"x"}, Type: i32, Description: "after all first"},
		"add column `a.b`.`c``d` INT":                 AddColumn{Path: []string{"a.b", "c`d"}, Type: i32},
		"drop column l.element.m":                     DropColumn{Path: []string{"l", "element", "m"}},
		"rename column a to b":                        RenameColumn{Path: []string{"a"}, To: "b"},
		"rename column r.a TO `b c`":                  RenameColumn{Path: []string{"r", "a"}, To: "b c"},
		"alter column a type BIGINT":                  ChangeColumnType{Path: []string{"a"}, Type: big, KeepNullability: true},
		"alter column a type BIGINT NOT NULL":         ChangeColumnType{Path: []string{"a"}, Type: big.AsNotNull()},
		"alter column a type BIGINT NULL":             ChangeColumnType{Path: []string{"a"}, Type: big},
		"alter column a nullable":                     ChangeColumnNullability{Path: []string{"a"}, Nullable: true},
		"alter column a drop not null":                ChangeColumnNullability{Path: []string{"a"}, Nullable: true},
		"alter column a not null":                     ChangeColumnNullability{Path: []string{"a"}},
		"alter column a set not null":                 ChangeColumnNullability{Path: []string{"a"}},
		"alter column a comment 'it''s'":              ChangeColumnComment{Path: []string{"a"}, Comment: "it's"},
		"alter column a comment plain":                ChangeColumnComment{Path: []string{"a"}, Comment: "plain"},
		"alter column a default '5'":                  ChangeColumnDefault{Path: []string{"a"}, Default: ptr("5")},
		"alter column a drop default":                 ChangeColumnDefault{Path: []string{"a"}},
		"alter column a first":                        MoveColumn{Path: []string{"a"}, Move: Move{Kind: MoveFirst}},
		"alter column a last":                         MoveColumn{Path: []string{"a"}, Move: Move{Kind: MoveLast}},
		"alter column a after b":                      MoveColumn{Path: []string{"a"}, Move: Move{MoveAfter, "b"}},
		"alter column a before b":                     MoveColumn{Path: []string{"a"}, Move: Move{MoveBefore, "b"}},
		"set option k.l = a=b ":                       SetOption{"k.l", "a=b"},
		"SET OPTION k=":                               SetOption{"k", ""},
		"reset option k":                              ResetOption{"k"},
		"comment 'text'":                              ChangeComment{ptr("text")},
		"comment after":                               ChangeComment{ptr("after")},
		"drop comment":                                ChangeComment{},
		"drop primary key":                            DropPrimaryKey{},
		"add column first INT first":                  AddColumn{Path: []string{"first"}, Type: i32, Move: Move{Kind: MoveFirst}},
		"add column x ROW<a INT, after INT> AFTER a1": AddColumn{Path: []string{"x"}, Type: &rowdata.Type{Root: rowdata.Row, Fields: []rowdata.Field{{Name: "a", Type: i32}, {Name: "after", Type: i32}}}, Move: Move{MoveAfter, "a1"}},
	} {
		got, err := ParseChange(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := ParseChange(got.String())
		require.NoError(t, err, got.String())
		require.Equal(t, want, again, got.String())
	}
	for _, text := range []string{
		"", "add", "add column", "add column x", "add column x WHAT", "add column .x INT", "add column x. INT", "add column r..x INT", "add column `x INT",
		"add column `x`y INT", "drop column", "drop column x y", "rename column a b", "rename column a to", "rename column a to b c", "alter column a",
		"alter column a type", "alter column a nothing", "alter column a after", "set option", "set option k", "set option =v", "reset option", "comment 'x' y",
		"alter column a comment 'x", "drop primary keys", "addcolumn x INT", "add column x INT AFTER y z", "alter column a default 'x' y", "add column " + strings.Repeat("x.", depthMax+1) + "x INT",
	} {
		_, err := ParseChange(text)
		require.Error(t, err, text)
		if text != "" && len(text) < 100 {
			require.ErrorContains(t, err, strings.Split(text, " ")[0])
		}
	}
}

func FuzzParseChange(f *testing.F) {
	for _, s := range []string{
		"add column r.x INT DEFAULT 'd' COMMENT 'c' AFTER `y z`", "rename column a to b", "alter column a type ROW<x INT> NOT NULL", "alter column a first",
		"set option a=b", "reset option a", "comment 'c'", "drop primary key", "drop column `a``b`.c", "alter column a default 'x'", "drop comment",
	} {
		f.Add(s)
	}
	schema, err := NewSchema(SchemaSpec{Schema: ColumnsSpec{Fields: []string{"k INT", "a INT", "r ROW<x INT, y STRING>", "l ARRAY<ROW<m INT>>"}, PK: []string{"k"}}, Options: map[string]string{"bucket": "1"}}, 0)
	require.NoError(f, err)
	before, err := schema.Marshal()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseChange(text)
		if err != nil {
			return
		}
		again, err := ParseChange(c.String())
		require.NoError(t, err, c.String())
		require.Equal(t, c.String(), again.String())
		next, err := Evolve(schema, []Change{c}, EvolveOptions{})
		after, merr := schema.Marshal()
		require.NoError(t, merr)
		require.Equal(t, string(before), string(after), "the old version stays as it was")
		if err != nil {
			return
		}
		data, err := next.Marshal()
		require.NoError(t, err)
		_, err = ParseSchema(data)
		require.NoError(t, err)
		require.GreaterOrEqual(t, next.HighestFieldID, schema.HighestFieldID)
	})
}
