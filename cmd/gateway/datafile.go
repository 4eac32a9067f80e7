package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/paimon"
	"sluice/paimon/datafile"
	"sluice/paimon/rowdata"
)

func (a *app) inspectDatafile() *cobra.Command {
	var schemaID, limit int64
	cmd := &cobra.Command{
		Use:   "datafile PATH",
		Short: "Print the records of a data or changelog file of a table, with kinds and sequence numbers",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t := a.tableOf(cmd.Context(), args[0])
			if t == nil {
				return fmt.Errorf("%s: lies in no table, so that its columns are not known", args[0])
			}
			s := t.Schema()
			if schemaID >= 0 {
				var err error
				if s, err = t.SchemaByID(cmd.Context(), schemaID); err != nil {
					return err
				}
			}
			if err := a.printDatafile(cmd, args[0], s, limit); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
	cmd.Flags().Int64Var(&schemaID, "schema", -1, "schema that the file was written with (default: the newest)")
	cmd.Flags().Int64Var(&limit, "limit", 0, "print at most so many records")
	return cmd
}

func (a *app) printDatafile(cmd *cobra.Command, path string, s *paimon.Schema, limit int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := datafile.Open(f, info.Size(), filepath.Base(path), datafile.ReadSpec{Want: s.RowType(), File: s.RowType(), System: s.HasPrimaryKey()})
	if err != nil {
		return err
	}
	defer r.Close()
	out := newRowPrinter(cmd.OutOrStdout(), false, true)
	kv := rowdata.NewKeyValues(s.RowType(), 1024)
	var buf []byte
	for {
		n, err := r.Next(kv)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for i := range n {
			if limit > 0 && out.count >= limit {
				return out.flush()
			}
			kind := rowdata.Insert
			if s.HasPrimaryKey() {
				kind = kv.Kinds[i]
			}
			if !a.json {
				if err := out.print(&kv.Batch, kind, i); err != nil {
					return err
				}
				continue
			}
			out.count++
			buf = append(buf[:0], `{"kind":"`...)
			buf = append(buf, kind.String()...)
			if s.HasPrimaryKey() {
				buf = append(buf, `","sequence":`...)
				buf = strconv.AppendInt(buf, kv.Seq[i], 10)
				buf = append(buf, `,"row":`...)
			} else {
				buf = append(buf, `","row":`...)
			}
			buf = rowdata.AppendJSONObject(buf, &kv.Batch, i)
			buf = append(buf, "}\n"...)
			if _, err := cmd.OutOrStdout().Write(buf); err != nil {
				return err
			}
		}
	}
	if err := out.flush(); err != nil || a.json {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "(%d of %d records)\n", out.count, r.Rows())
	return err
}
