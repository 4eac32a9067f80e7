// Package oracle talks to the real Apache Paimon: it keeps one virtual machine
// with the program in interop/java and gives it commands. Tests that need it
// have the build tag interop.
package oracle

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Oracle is a running program. It takes one command at a time.
type Oracle struct {
	mu   sync.Mutex
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	diag strings.Builder
}

// Error is a command that failed.
type Error struct {
	Args   []string
	Exit   int
	Reason string
	Output []string
}

func (e *Error) Error() string {
	return fmt.Sprintf("oracle %s: exit %d: %s\n%s", strings.Join(e.Args, " "), e.Exit, e.Reason, strings.Join(e.Output, "\n"))
}

// Start starts the program, building it when its sources have changed.
func Start(ctx context.Context) (*Oracle, error) {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return nil, errors.New("oracle: no source path")
	}
	script := filepath.Join(filepath.Dir(here), "..", "java", "oracle")
	if _, err := os.Stat(script); err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	o := &Oracle{cmd: exec.CommandContext(ctx, script, "serve")}
	o.cmd.Stderr = &o.diag
	var err error
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o.out = bufio.NewReaderSize(out, 1<<20)
	if err := o.cmd.Start(); err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	return o, nil
}

// Run gives a command and returns the lines of its output.
func (o *Oracle) Run(args ...string) ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	if _, err := o.in.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("oracle has ended: %w\n%s", err, o.diag.String())
	}
	var lines []string
	for {
		text, err := o.out.ReadString('\n')
		if err != nil {
			return lines, fmt.Errorf("oracle has ended: %w\n%s", err, o.diag.String())
		}
		text = strings.TrimSuffix(text, "\n")
		var end struct {
			Exit  *int
			Error string
		}
		if strings.HasPrefix(text, `{"exit":`) && json.Unmarshal([]byte(text), &end) == nil && end.Exit != nil {
			if *end.Exit != 0 {
				return lines, &Error{Args: args, Exit: *end.Exit, Reason: end.Error, Output: lines}
			}
			return lines, nil
		}
		lines = append(lines, text)
	}
}

// Close ends the program.
func (o *Oracle) Close() error {
	err := o.in.Close()
	return errors.Join(err, o.cmd.Wait())
}
