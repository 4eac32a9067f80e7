// Command fold keeps a copy of a table: it folds a feed into a map and prints what
// it has. Stopped and started again, or killed, it goes on from where it was:
//
//	go run ./examples/consumers/fold --feed shop.orders --state orders.json
//
// The map and the position are saved together, in one file that is replaced as a
// whole. So each change counts exactly once, whatever happens between.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"sluice/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "fold:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("fold", flag.ContinueOnError)
	server := flags.String("server", "localhost:7070", "address of the gateway")
	feed := flags.String("feed", "", "name of the feed")
	state := flags.String("state", "fold.json", "file that keeps the copy and the position")
	until := flags.String("until", "", "where to end, such as latest; empty: never")
	every := flags.Duration("every", time.Second, "how often to save and to print")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *feed == "" {
		return errors.New("name a feed with --feed")
	}
	c, err := client.Dial(*server)
	if err != nil {
		return err
	}
	defer c.Close()
	t, err := load(*state)
	if err != nil {
		return err
	}
	opts := []client.Option{client.From("full")}
	if t.Cursor != "" {
		fmt.Fprintf(out, "going on with %d rows\n", len(t.Rows))
		opts = []client.Option{client.FromCursor(t.Cursor)}
	}
	if *until != "" {
		opts = append(opts, client.Until(*until))
	}
	sub := c.Subscribe(*feed, opts...)
	defer sub.Close()
	return follow(ctx, sub, t, *state, *every, out)
}

// follow folds events until the end, and saves after commits.
func follow(ctx context.Context, sub *client.Subscription, t *table, state string, every time.Duration, out io.Writer) error {
	saved := time.Now()
	save := func() error {
		if err := t.save(state); err != nil {
			return err
		}
		fmt.Fprintln(out, t)
		saved = time.Now()
		return nil
	}
	for {
		e, err := sub.Next(ctx)
		if errors.Is(err, io.EOF) {
			return save()
		}
		if err != nil {
			return err // what came after the last save comes again
		}
		switch e.Kind {
		case client.EventRows:
			t.fold(e.Rows)
		case client.EventCommitEnd, client.EventProgress, client.EventComplete:
			// Between commits the copy is a state that the table had.
			t.Cursor = e.Cursor
			if e.Commit != nil {
				t.Snapshot = e.Commit.Snapshot
			}
			if time.Since(saved) >= every {
				if err := save(); err != nil {
					return err
				}
			}
		}
	}
}
