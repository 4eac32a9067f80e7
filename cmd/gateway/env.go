package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/objstore"
	"sluice/objstore/local"
	"sluice/paimon"
)

// store is the local file system from its root: object names are absolute
// paths, so that external data paths resolve too.
func (a *app) store() objstore.Store { return local.New("/", local.Options{}) }

// root returns the warehouse as an object name.
func (a *app) root() (string, error) {
	if a.warehouse == "" {
		return "", usagef("no warehouse: name its folder with --warehouse DIR")
	}
	abs, err := filepath.Abs(a.warehouse)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(filepath.ToSlash(abs), "/"), nil
}

func (a *app) catalog() (*paimon.Catalog, error) {
	root, err := a.root()
	if err != nil {
		return nil, err
	}
	return paimon.NewCatalog(a.store(), root), nil
}

// openTable opens DB.T at the branch of the command line.
func (a *app) openTable(ctx context.Context, name string) (*paimon.Table, error) {
	c, err := a.catalog()
	if err != nil {
		return nil, err
	}
	if err := checkTableName(name); err != nil {
		return nil, err
	}
	t, err := c.OpenTable(ctx, name)
	if err != nil {
		return nil, err
	}
	if a.branch == "" || a.branch == paimon.MainBranch {
		return t, nil
	}
	return t.OpenBranch(ctx, a.branch)
}

func checkTableName(name string) error {
	db, table, ok := strings.Cut(name, ".")
	if !ok || db == "" || table == "" {
		return usagef("table %q: want DATABASE.TABLE", name)
	}
	return nil
}

// branchFlag gives a command the flag --branch.
func (a *app) branchFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.branch, "branch", "", "branch of the table (default main)")
	return cmd
}

// tableCmd returns a command whose first argument is DB.T, opened.
func (a *app) tableCmd(use, short string, args cobra.PositionalArgs, fn func(cmd *cobra.Command, t *paimon.Table, rest []string) error) *cobra.Command {
	return a.branchFlag(&cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, argv []string) error {
		t, err := a.openTable(cmd.Context(), argv[0])
		if err != nil {
			return err
		}
		return fn(cmd, t, argv[1:])
	}})
}

// checkColumns refuses names of columns that a schema does not have.
func checkColumns(s *paimon.Schema, names []string) error {
	have := s.RowType()
	for _, n := range names {
		if have.Index(n) < 0 {
			return usagef("--columns: there is no column %q, want some of %s", n, strings.Join(have.Names(), ", "))
		}
	}
	return nil
}

// timeForms are the accepted texts of a point in time; without a zone they are
// local.
var timeForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02"}

// parseTime reads a point in time: one of timeForms, epoch milliseconds, or a
// span before now (-5m).
func parseTime(s string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil && d <= 0 && s != "0" {
		return now.Add(d), nil
	}
	var ms int64
	if _, err := fmt.Sscanf(s, "%d", &ms); err == nil && fmt.Sprint(ms) == s {
		return time.UnixMilli(ms), nil
	}
	for _, form := range timeForms {
		if t, err := time.ParseInLocation(form, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("time %q: want 2026-11-30T12:00:00, epoch milliseconds, or a span before now such as -5m", s)
}

func millisText(ms int64) string {
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000")
}
