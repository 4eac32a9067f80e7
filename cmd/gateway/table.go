package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"sluice/internal/spec"
	"sluice/paimon"
	"sluice/paimon/commit"
)

func (a *app) tableCommand() *cobra.Command {
	return group("table", "Create, list, show, alter and drop tables",
		a.tableCreate(),
		&cobra.Command{Use: "list [DB]", Short: "List the tables of the warehouse or of one database", Args: cobra.MaximumNArgs(1), RunE: a.tableList},
		a.tableShowCommand(),
		a.tableAlter(),
		a.tableTruncate(),
		a.tableDrop(),
	)
}

func (a *app) tableShowCommand() *cobra.Command {
	var health bool
	cmd := a.tableCmd("show DB.T", "Show the columns, keys and options of a table, or the health of its buckets", cobra.ExactArgs(1), func(cmd *cobra.Command, t *paimon.Table, rest []string) error {
		if health {
			return a.tableHealth(cmd, t)
		}
		return a.tableShow(cmd, t, rest)
	})
	cmd.Flags().BoolVar(&health, "health", false, "show sorted runs, levels and small files of each bucket, and what a compaction would do now")
	return cmd
}

func (a *app) tableTruncate() *cobra.Command {
	return a.tableCmd("truncate DB.T", "Remove all rows of a table; its history stays", cobra.ExactArgs(1), func(cmd *cobra.Command, t *paimon.Table, _ []string) error {
		r, err := commit.New(t, commit.Options{}).Truncate(cmd.Context(), uuid.NewString(), paimon.BatchCommitIdentifier)
		if err != nil {
			return err
		}
		id := int64(0)
		if last := r.Last(); last != nil {
			id = last.ID
		}
		return a.done(cmd, map[string]any{"snapshot": id}, "all rows are gone with snapshot %d", id)
	})
}

func (a *app) tableCreate() *cobra.Command {
	var specFile string
	var fields, pk, partition, options []string
	cmd := &cobra.Command{
		Use:   "create DB.T --spec SPEC.yaml",
		Short: "Create a table from a YAML spec or from flags",
		Example: `  gateway table create shop.orders --spec orders.yaml
  gateway table create shop.items --column 'id BIGINT NOT NULL' --column 'name STRING' --pk id --set bucket=2`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := readSpec(specFile, cmd.InOrStdin())
			if err != nil {
				return err
			}
			s.Schema.Fields = append(s.Schema.Fields, fields...)
			s.Schema.PK = append(s.Schema.PK, pk...)
			s.Schema.Partition = append(s.Schema.Partition, partition...)
			for _, o := range options {
				k, v, ok := strings.Cut(o, "=")
				if !ok {
					return usagef("--set %q: want OPTION=VALUE", o)
				}
				if s.Options == nil {
					s.Options = map[string]string{}
				}
				s.Options[k] = v
			}
			if len(s.Schema.Fields) == 0 {
				return usagef("the table has no columns: give --spec FILE or --column 'NAME TYPE'")
			}
			return a.createTable(cmd, args[0], s)
		},
	}
	f := cmd.Flags()
	f.StringVar(&specFile, "spec", "", "YAML file with schema and options (- for standard input)")
	f.StringArrayVar(&fields, "column", nil, "a column, as 'NAME TYPE [NOT NULL] [COMMENT text]'; may be repeated")
	f.StringSliceVar(&pk, "pk", nil, "primary key columns")
	f.StringSliceVar(&partition, "partition", nil, "partition columns")
	f.StringArrayVar(&options, "set", nil, "a table option, as OPTION=VALUE; may be repeated")
	return cmd
}

func readSpec(file string, stdin io.Reader) (paimon.SchemaSpec, error) {
	if file == "" {
		return paimon.SchemaSpec{}, nil
	}
	var data []byte
	var err error
	if file == "-" {
		data, err = io.ReadAll(io.LimitReader(stdin, 16<<20))
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return paimon.SchemaSpec{}, err
	}
	s, err := spec.ParseTable(data)
	if err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

func (a *app) createTable(cmd *cobra.Command, name string, s paimon.SchemaSpec) error {
	if err := checkTableName(name); err != nil {
		return err
	}
	c, err := a.catalog()
	if err != nil {
		return err
	}
	db, _, _ := strings.Cut(name, ".")
	if err := c.CreateDatabase(cmd.Context(), db); err != nil && !errors.Is(err, paimon.ErrDatabaseExists) {
		return err
	}
	t, err := c.CreateTable(cmd.Context(), name, s)
	if err != nil {
		return err
	}
	return a.done(cmd, map[string]any{"table": name, "schema": t.Schema().ID}, "table %s was created", name)
}

func (a *app) tableList(cmd *cobra.Command, args []string) error {
	c, err := a.catalog()
	if err != nil {
		return err
	}
	dbs := args
	if len(dbs) == 0 {
		if dbs, err = c.ListDatabases(cmd.Context()); err != nil {
			return err
		}
	}
	g := newGrid("table", "key", "partition", "buckets", "merge engine", "changelog", "latest")
	for _, db := range dbs {
		names, err := c.ListTables(cmd.Context(), db)
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := a.listOne(cmd, c, db+"."+n, g); err != nil {
				return err
			}
		}
	}
	if a.json {
		return nil
	}
	return g.flush(cmd.OutOrStdout())
}

func (a *app) listOne(cmd *cobra.Command, c *paimon.Catalog, name string, g *grid) error {
	t, err := c.OpenTable(cmd.Context(), name)
	if errors.Is(err, paimon.ErrTableNotFound) {
		return nil // dropped meanwhile
	}
	if err != nil {
		return err
	}
	latest, err := t.LatestID(cmd.Context())
	if err != nil && !errors.Is(err, paimon.ErrNoSnapshot) {
		return err
	}
	s := t.Schema()
	if a.json {
		return writeJSON(cmd.OutOrStdout(), map[string]any{
			"table": name, "primaryKeys": s.PrimaryKeys, "partitionKeys": s.PartitionKeys, "bucketMode": s.BucketMode().String(), "buckets": s.Buckets(),
			"mergeEngine": s.MergeEngine(), "changelogProducer": s.ChangelogProducer(), "schema": s.ID, "latestSnapshot": latest,
		})
	}
	g.add(name, strings.Join(s.PrimaryKeys, ","), strings.Join(s.PartitionKeys, ","), s.Buckets(), s.MergeEngine(), s.ChangelogProducer(), latest)
	return nil
}

func (a *app) tableShow(cmd *cobra.Command, t *paimon.Table, _ []string) error {
	s := t.Schema()
	if a.json {
		return writeJSON(cmd.OutOrStdout(), s)
	}
	g := newGrid("id", "column", "type", "key", "comment")
	for i := range s.Fields {
		f := &s.Fields[i]
		var marks []string
		if slices.Contains(s.PrimaryKeys, f.Name) {
			marks = append(marks, "primary")
		}
		if slices.Contains(s.PartitionKeys, f.Name) {
			marks = append(marks, "partition")
		}
		g.add(f.ID, f.Name, f.Type, strings.Join(marks, ", "), f.Description)
	}
	if err := g.flush(cmd.OutOrStdout()); err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "\nschema %d, branch %s, %s, merge engine %s, changelog producer %s\n", s.ID, t.Branch, strings.ToLower(s.BucketMode().String()), s.MergeEngine(), s.ChangelogProducer())
	for _, k := range slices.Sorted(maps.Keys(s.Options)) {
		fmt.Fprintf(w, "  %s = %s\n", k, s.Options[k])
	}
	snapshot, err := t.LatestSnapshot(cmd.Context())
	if errors.Is(err, paimon.ErrNoSnapshot) {
		_, err = fmt.Fprintln(w, "no snapshot yet")
		return err
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "snapshot %d of %s, %v rows in files\n", snapshot.ID, millisText(snapshot.TimeMillis), countText(snapshot.TotalRecordCount))
	return err
}

func (a *app) tableAlter() *cobra.Command {
	return &cobra.Command{
		Use:   "alter DB.T CHANGE...",
		Short: "Change columns, options or the comment of a table",
		Example: `  gateway table alter shop.orders 'add column tax DECIMAL(10, 2) AFTER amount'
  gateway table alter shop.orders 'rename column note to remark' 'set option bucket=4'`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.catalog()
			if err != nil {
				return err
			}
			if err := checkTableName(args[0]); err != nil {
				return err
			}
			changes := make([]paimon.Change, len(args)-1)
			for i, text := range args[1:] {
				if changes[i], err = paimon.ParseChange(text); err != nil {
					return &usageError{fmt.Errorf("change %q: %w", text, err)}
				}
			}
			s, err := c.AlterTable(cmd.Context(), args[0], changes)
			if err != nil {
				return err
			}
			return a.done(cmd, map[string]any{"table": args[0], "schema": s.ID}, "table %s has schema %d now", args[0], s.ID)
		},
	}
}

func (a *app) tableDrop() *cobra.Command {
	var ifExists bool
	cmd := &cobra.Command{
		Use: "drop DB.T", Short: "Delete a table with all its files", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.catalog()
			if err != nil {
				return err
			}
			if err := checkTableName(args[0]); err != nil {
				return err
			}
			err = c.DropTable(cmd.Context(), args[0])
			if ifExists && errors.Is(err, paimon.ErrTableNotFound) {
				return a.done(cmd, map[string]any{"table": args[0], "dropped": false}, "there is no table %s", args[0])
			}
			if err != nil {
				return err
			}
			return a.done(cmd, map[string]any{"table": args[0], "dropped": true}, "table %s was dropped", args[0])
		},
	}
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "it is no error if there is no such table")
	return cmd
}
