package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// usageError is a command line that cannot be run as it is.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// app is what all commands share: the persistent flags.
type app struct {
	warehouse string
	json      bool
	branch    string
}

func newRoot() *cobra.Command {
	a := &app{}
	root := &cobra.Command{
		Use:           "gateway",
		Short:         "Tables in Apache Paimon's format, and every change of them as a feed",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w (see %s --help)", err, cmd.CommandPath())
	})
	f := root.PersistentFlags()
	f.StringVarP(&a.warehouse, "warehouse", "w", os.Getenv("SLUICE_WAREHOUSE"), "folder of the tables (or SLUICE_WAREHOUSE)")
	f.BoolVar(&a.json, "json", false, "JSON lines instead of text for people")
	root.AddCommand(
		a.demoCommand(), a.serveCommand(),
		a.tableCommand(), a.writeCommand(), a.compactCommand(), a.readCommand(), a.changesCommand(), a.tailCommand(),
		a.snapshotCommand(), a.tagCommand(), a.branchCommand(), a.consumerCommand(), a.orphanCommand(),
		a.inspectCommand(), a.versionCommand(),
	)
	wrapArgs(root)
	return root
}

// wrapArgs makes every complaint about the number of arguments, and about flags
// that exclude each other, one of usage.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usagef("%w (usage: %s)", err, cmd.UseLine())
			}
			if err := cmd.ValidateFlagGroups(); err != nil {
				return usagef("%w (see %s --help)", err, cmd.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		wrapArgs(sub)
	}
}

// group returns a command that only has subcommands.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return usagef("%s needs a command: %s", cmd.CommandPath(), cmd.CommandPath()+" --help lists them")
	}}
	cmd.AddCommand(subs...)
	return cmd
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		if a.json {
			return writeJSON(cmd.OutOrStdout(), map[string]string{"version": version})
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "gateway", version)
		return err
	}}
}
