package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	"sluice/internal/server"
	"sluice/internal/telemetry"
)

func (a *app) serveCommand() *cobra.Command {
	var file string
	var check bool
	cmd := &cobra.Command{
		Use:   "serve --config sluice.yaml",
		Short: "Serve the feeds of a warehouse over gRPC, WebSocket, HTTP and NATS",
		Long: `Serve the feeds of a warehouse over gRPC, WebSocket, HTTP and NATS.

The garbage collector keeps memory near what the windows of the feeds, their
readers and the connections may take together; set GOMEMLIMIT to choose another
limit.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return usagef("no configuration: name a file with --config FILE")
			}
			c, err := config.Load(file, os.Environ())
			if err != nil {
				return &usageError{err}
			}
			if a.warehouse != "" {
				c.Warehouse = a.warehouse
			}
			if check {
				return a.done(cmd, map[string]any{"ok": true, "feeds": len(c.Feeds)}, "%s is good: %d feeds of %s", file, len(c.Feeds), c.Warehouse)
			}
			log, err := telemetry.NewLogger(cmd.ErrOrStderr(), c.Log.Level, c.Log.Format)
			if err != nil {
				return err
			}
			limitMemory(serverBudget(c))
			s, err := server.New(cmd.Context(), c, log)
			if err != nil {
				return err
			}
			if a.json {
				err = writeJSON(cmd.OutOrStdout(), map[string]any{"grpc": s.GRPCAddr(), "http": s.HTTPAddr(), "nats": s.NATSURL()})
			} else {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "gRPC %s, HTTP and WebSocket %s%s\n", s.GRPCAddr(), s.HTTPAddr(), natsText(s.NATSURL()))
			}
			if err != nil {
				return err
			}
			return s.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "configuration, a YAML file")
	cmd.Flags().BoolVar(&check, "check", false, "only check the configuration")
	return cmd
}

func natsText(url string) string {
	if url == "" {
		return ""
	}
	return ", NATS " + url
}
