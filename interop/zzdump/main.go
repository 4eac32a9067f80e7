package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

func main() {
	f, err := os.Open(os.Args[1])
	if err != nil { panic(err) }
	st, _ := f.Stat()
	p, err := parquet.OpenFile(f, st.Size())
	if err != nil { panic(err) }
	col, _ := strconv.Atoi(os.Args[2])
	row := int64(0)
	for gi, g := range p.RowGroups() {
		cc := g.ColumnChunks()[col]
		oi, err := cc.OffsetIndex()
		if err != nil { panic(err) }
		ci, err := cc.ColumnIndex()
		if err != nil { panic(err) }
		fmt.Println("group", gi, "rows", g.NumRows(), "from", row)
		for i := range oi.NumPages() {
			fmt.Println("  page", i, "first", oi.FirstRowIndex(i), "abs", row+oi.FirstRowIndex(i), "off", oi.Offset(i), "size", oi.CompressedPageSize(i), "nulls", ci.NullCount(i), ci.MinValue(i), ci.MaxValue(i))
		}
		row += g.NumRows()
	}
	fmt.Println(p.Metadata().RowGroups[0].Columns[col].MetaData.Encoding)
}
