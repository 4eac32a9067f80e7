package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"sluice/client"
	"sluice/feeds"
	"sluice/paimon/rowdata"
	"sluice/snapshotreader"
)

type tailFlags struct {
	server, from, until, token, consumer string
	columns                              []string
	limit                                int64
}

func (a *app) tailCommand() *cobra.Command {
	var f tailFlags
	cmd := a.branchFlag(&cobra.Command{
		Use:   "tail FEED|DB.T",
		Short: "Follow the changes of a feed, or of a table of a warehouse",
		Long: `Follow the changes of a feed of a gateway (--server), or of a table directly
(--warehouse). It never ends unless --until or --limit says so.

Positions: earliest, latest, full (the rows, then changes), snapshot:N, time:T,
tag:T, cursor:C. Each JSON line has the cursor to go on after it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := &changeLines{w: cmd.OutOrStdout(), json: a.json, color: cmd.OutOrStdout() == os.Stdout && isTerminal(os.Stdout)}
			var err error
			if f.server == "" && a.warehouse != "" {
				err = a.tailTable(cmd.Context(), args[0], &f, out)
			} else {
				err = a.tailFeed(cmd.Context(), args[0], &f, out)
			}
			if errors.Is(err, context.Canceled) && cmd.Context().Err() != nil {
				return nil // Ctrl-C is how a tail ends
			}
			return err
		},
	})
	fl := cmd.Flags()
	fl.StringVar(&f.server, "server", "", "address of a gateway (default 127.0.0.1:7070 unless --warehouse is given)")
	fl.StringVar(&f.from, "from", "", "where to begin (default latest)")
	fl.StringVar(&f.until, "until", "", "where to end: latest, snapshot:N, time:T or cursor:C")
	fl.StringSliceVar(&f.columns, "columns", nil, "columns to print, in this order")
	fl.Int64Var(&f.limit, "limit", 0, "end after so many changes")
	// Not as the flag's default, which the help text shows.
	fl.StringVar(&f.token, "token", "", "bearer token of the gateway (or SLUICE_TOKEN)")
	fl.StringVar(&f.consumer, "consumer", "", "named consumer: begin where it stopped, and store how far it has come")
	return cmd
}

// tailTable follows a table of the warehouse without a gateway.
func (a *app) tailTable(ctx context.Context, name string, f *tailFlags, out *changeLines) error {
	if f.consumer != "" {
		return usagef("--consumer needs a gateway: name one with --server")
	}
	t, err := a.openTable(ctx, name)
	if err != nil {
		return err
	}
	from := f.from
	if from == "" {
		from = "latest"
	}
	start, err := snapshotreader.ParseStart(from)
	if err != nil {
		return &usageError{fmt.Errorf("--from: %w", err)}
	}
	until := snapshotreader.Until{}
	if f.until != "" {
		if until, err = snapshotreader.ParseUntil(f.until); err != nil {
			return &usageError{fmt.Errorf("--until: %w", err)}
		}
	}
	if err := checkColumns(t.Schema(), f.columns); err != nil {
		return err
	}
	tail, err := snapshotreader.Open(ctx, t, start, snapshotreader.Options{Until: until, Columns: f.columns})
	if err != nil {
		return err
	}
	defer tail.Close()
	var row []byte
	for {
		b, err := tail.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range b.Rows.N {
			if f.limit > 0 && out.count >= f.limit {
				return nil
			}
			next := b.Next
			if i < b.Rows.N-1 {
				next = b.Cursor(i + 1)
			}
			row = rowdata.AppendJSONObject(row[:0], &b.Rows.Batch, i)
			if err := out.write(b.Snapshot.ID, b.Rows.Kind(i).String(), row, next.String()); err != nil {
				return err
			}
		}
		if f.limit > 0 && out.count >= f.limit {
			return nil
		}
	}
}

// tailFeed follows a feed of a gateway.
func (a *app) tailFeed(ctx context.Context, feed string, f *tailFlags, out *changeLines) error {
	addr := f.server
	if addr == "" {
		addr = "127.0.0.1:7070"
	}
	if err := f.check(); err != nil {
		return err
	}
	c, err := client.Dial(addr, tokenOptions(cmp.Or(f.token, os.Getenv("SLUICE_TOKEN")))...)
	if err != nil {
		return err
	}
	defer c.Close()
	// A gateway that is not there, or does not know the feed, says so at once; one
	// that goes away later is waited for.
	if _, err := c.Feed(ctx, feed); err != nil {
		return fmt.Errorf("gateway %s: %w", addr, err)
	}
	opts := []client.Option{client.JSON()}
	if f.from != "" {
		opts = append(opts, client.From(f.from))
	}
	if f.until != "" {
		opts = append(opts, client.Until(f.until))
	}
	if len(f.columns) > 0 {
		opts = append(opts, client.Columns(f.columns...))
	}
	if f.consumer != "" {
		opts = append(opts, client.Consumer(f.consumer))
	}
	sub := c.Subscribe(feed, opts...)
	defer sub.Close()
	for {
		e, err := sub.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if e.Kind != client.EventRows {
			continue
		}
		for i := range e.Rows.Len() {
			if err := out.write(e.Rows.Snapshot, e.Rows.Kind(i).String(), e.Rows.JSON(i), e.Rows.Cursor(i+1)); err != nil {
				return err
			}
			if f.limit > 0 && out.count >= f.limit {
				return f.ack(ctx, sub, e.Rows.Cursor(i+1))
			}
		}
		if err := f.ack(ctx, sub, e.Cursor); err != nil {
			return err
		}
	}
}

// check refuses positions that no gateway knows.
func (f *tailFlags) check() error {
	if f.from != "" {
		if _, err := feeds.ParseStart(f.from); err != nil {
			return &usageError{fmt.Errorf("--from: %w", err)}
		}
	}
	if _, err := feeds.ParseUntil(f.until); err != nil {
		return &usageError{fmt.Errorf("--until: %w", err)}
	}
	return nil
}

// ack stores how far the consumer has come, after its rows were written.
func (f *tailFlags) ack(ctx context.Context, sub *client.Subscription, cursor string) error {
	if f.consumer == "" {
		return nil
	}
	return sub.Ack(ctx, cursor)
}

// tokenOptions sends a bearer token with every call.
func tokenOptions(token string) []grpc.DialOption {
	if token == "" {
		return nil
	}
	add := func(ctx context.Context) context.Context {
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoke(add(ctx), method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return streamer(add(ctx), desc, cc, method, opts...)
		}),
	}
}
