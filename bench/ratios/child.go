package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// child is a process that plays a role: it says "ready", waits for a line if its
// role has it so, and prints what it found before it ends.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	role string
}

// startChild starts a role and waits until it is ready.
func startChild(ctx context.Context, role string, args ...any) (*child, error) {
	words := []string{"role", role}
	for _, a := range args {
		words = append(words, fmt.Sprint(a))
	}
	cmd, err := self(ctx, 1, words...)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, role: role}
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := c.out.ReadString('\n')
	if err != nil || line != "ready\n" {
		return nil, errors.Join(fmt.Errorf("%s did not get ready: it said %q", role, line), err, cmd.Wait())
	}
	return c, nil
}

// goOn lets the child begin.
func (c *child) goOn() error {
	_, err := io.WriteString(c.in, "\n")
	return err
}

// wait waits for the end of the child and returns what it printed, a JSON value
// that goes into v unless that is nil.
func (c *child) wait(v any) error {
	data, err := io.ReadAll(c.out)
	if err == nil && v != nil {
		err = json.Unmarshal(data, v)
	}
	if e := c.cmd.Wait(); e != nil || err != nil {
		return fmt.Errorf("%s: %w", c.role, errors.Join(e, err))
	}
	return nil
}

// play plays a role in this process.
func play(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	roles := map[string]func(context.Context, []string, io.Reader, io.Writer) error{
		"receive-grpc": receiveGRPC, "receive-websocket": receiveWebSocket, "receive-times": receiveTimes,
		"write-rows": writeRows, "write-times": writeTimes,
	}
	if len(args) == 0 || roles[args[0]] == nil {
		return fmt.Errorf("no such role: %v: %w", args, errUsage)
	}
	return roles[args[0]](ctx, args[1:], in, out)
}

// ready says that the role can begin.
func ready(out io.Writer) error {
	_, err := io.WriteString(out, "ready\n")
	return err
}

// awaitGo waits for the line that lets the role begin.
func awaitGo(in io.Reader) error {
	_, err := bufio.NewReader(in).ReadString('\n')
	return err
}
