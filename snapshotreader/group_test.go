package snapshotreader

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/paimon"
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// entriesOn returns a file on each level.
func entriesOn(levels ...int32) []*manifest.Entry {
	var files []*manifest.Entry
	for _, l := range levels {
		files = append(files, &manifest.Entry{File: manifest.DataFile{Level: l}})
	}
	return files
}

func rowOf(t *rowdata.Type, null bool, x int32) []byte {
	v := rowdata.NewVector(t, 1)
	if null {
		v.AppendNull()
	} else {
		v.AppendI32(x)
	}
	return rowdata.AppendManifestRow(nil, []*rowdata.Vector{v}, 0)
}

// keyFile describes a file as "level:min-max", with + if it has deletes and ? if
// that is not known.
func keyFile(t *testing.T, name, text string) *manifest.Entry {
	var level, from, to int32
	var mark string
	n, _ := fmt.Sscanf(text, "%d:%d-%d%s", &level, &from, &to, &mark)
	require.GreaterOrEqual(t, n, 3, text)
	typ := &rowdata.Type{Root: rowdata.Int, NotNull: true}
	deletes := int64(0)
	e := &manifest.Entry{File: manifest.DataFile{FileName: name, Level: level, MinKey: rowOf(typ, false, from), MaxKey: rowOf(typ, false, to), DeleteRowCount: &deletes}}
	switch mark {
	case "+":
		deletes = 1
	case "?":
		e.File.DeleteRowCount = nil
	}
	return e
}

func TestCutGroup(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options paimon.Options
		files   []string
		want    string // pieces: [file] is raw, (run run) is merged
	}{
		{name: "one level is raw, in key order", files: []string{"5:5-9", "5:1-4"}, want: "[b] [a]"},
		{name: "two levels merge where they overlap", files: []string{"5:1-9", "5:20-29", "3:4-5"}, want: "(a c) [b]"},
		{name: "level 0 alone is raw", files: []string{"0:1-9"}, want: "[a]"},
		{name: "level 0 with deletes", files: []string{"0:1-9+"}, want: "(a)"},
		{name: "deletes not known", files: []string{"0:1-9?"}, want: "(a)"},
		{name: "level above 0 with deletes", files: []string{"4:1-3+", "4:5-9"}, want: "(a) [b]"},
		{name: "runs are chained", files: []string{"0:1-9", "5:1-3", "5:4-6", "5:7-9"}, want: "(b,c,d a)"},
		{name: "touching ranges overlap", files: []string{"0:1-5", "0:5-9"}, want: "(a b)"},
		{name: "deletion vectors", options: paimon.Options{"deletion-vectors.enabled": "true"}, files: []string{"5:1-9", "3:1-9"}, want: "[b] [a]"},
		{name: "deletion vectors with level 0", options: paimon.Options{"deletion-vectors.enabled": "true"}, files: []string{"5:1-9", "0:1-9"}, want: "(a b)"},
		{name: "first-row", options: paimon.Options{"merge-engine": "first-row"}, files: []string{"5:1-9", "3:1-9"}, want: "[b] [a]"},
		{name: "nothing", want: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &paimon.Schema{
				Fields:      []rowdata.Field{{ID: 0, Name: "k", Type: &rowdata.Type{Root: rowdata.Int, NotNull: true}}},
				PrimaryKeys: []string{"k"}, Options: tt.options,
			}
			g := &group{}
			for i, f := range tt.files {
				g.files = append(g.files, keyFile(t, string(rune('a'+i)), f))
			}
			pieces, err := cutGroup(g, s)
			require.NoError(t, err)
			require.Equal(t, tt.want, piecesText(pieces))
		})
	}
}

func piecesText(pieces []piece) string {
	text := ""
	for i, p := range pieces {
		if i > 0 {
			text += " "
		}
		open, end := "[", "]"
		if p.merge {
			open, end = "(", ")"
		}
		text += open
		for r, run := range p.runs {
			if r > 0 {
				text += " "
			}
			for k, e := range run {
				if k > 0 {
					text += ","
				}
				text += e.File.FileName
			}
		}
		text += end
	}
	return text
}

func TestCutGroupOfAppendTable(t *testing.T) {
	g := &group{}
	for i, seq := range []int64{7, 3, 0, 3} {
		g.files = append(g.files, &manifest.Entry{File: manifest.DataFile{FileName: string(rune('a' + i)), MinSeq: seq}})
	}
	pieces, err := cutGroup(g, &paimon.Schema{})
	require.NoError(t, err)
	require.Equal(t, "[c] [b] [d] [a]", piecesText(pieces))
}

func TestGroupFilesOrder(t *testing.T) {
	typ := &rowdata.Type{Root: rowdata.Int}
	var files []*manifest.Entry
	add := func(name string, null bool, x, bucket int32) {
		files = append(files, &manifest.Entry{Partition: rowOf(typ, null, x), Bucket: bucket, File: manifest.DataFile{FileName: name}})
	}
	add("a", false, 3, 1)
	add("b", false, -7, 0)
	add("c", true, 0, 2)
	add("d", false, 3, 0)
	add("e", false, 3, 1)
	groups, err := groupFiles(files, []*rowdata.Type{typ})
	require.NoError(t, err)
	var got []string
	for _, g := range groups {
		names := ""
		for _, e := range g.files {
			names += e.File.FileName
		}
		got = append(got, names)
	}
	require.Equal(t, []string{"c", "b", "d", "ae"}, got)

	groups, err = groupFiles(nil, []*rowdata.Type{typ})
	require.NoError(t, err)
	require.Empty(t, groups)

	_, err = groupFiles([]*manifest.Entry{{Partition: []byte{1}, File: manifest.DataFile{FileName: "x"}}}, []*rowdata.Type{typ})
	require.ErrorContains(t, err, "partition of file x")
}
