package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// record is what one run of a side printed.
type record struct {
	Peer     string            `json:"peer"`
	Workload string            `json:"workload"`
	Phase    string            `json:"phase"`
	Rows     float64           `json:"rows"`
	Bytes    float64           `json:"bytes"`
	WallS    float64           `json:"wall_s"`
	CPUS     float64           `json:"cpu_s"`
	GCS      float64           `json:"gc_s"`
	PeakRSS  float64           `json:"peak_rss_mb"`
	Digest   map[string]string `json:"digest"`
	Notes    map[string]any    `json:"notes"`
}

// rate is in rows a CPU second; the shortest time that both sides can tell is a
// hundredth of a second.
func (r *record) rate() float64 { return r.Rows / max(r.CPUS, 0.01) }

// side is a process that does a run for each line that it gets.
type side struct {
	cmd    *exec.Cmd
	pace   io.WriteCloser
	lines  *bufio.Scanner
	errors bytes.Buffer // complete when the process has ended
	ended  bool
}

// lineBytesMax bounds the result of a run.
const lineBytesMax = 1 << 20

func start(ctx context.Context, program string, args ...string) (*side, error) {
	s := &side{cmd: exec.CommandContext(ctx, program, args...)}
	s.cmd.Stderr = io.MultiWriter(os.Stderr, &s.errors)
	var err error
	if s.pace, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.lines = bufio.NewScanner(out)
	s.lines.Buffer(nil, lineBytesMax)
	return s, s.cmd.Start()
}

// next lets the side do a run and returns what it prints.
func (s *side) next() (*record, error) {
	if _, err := io.WriteString(s.pace, "\n"); err != nil {
		return nil, s.gone(err)
	}
	for s.lines.Scan() {
		line := s.lines.Bytes()
		if len(line) == 0 || line[0] != '{' {
			continue // a build may talk before the first run
		}
		r := &record{}
		if err := json.Unmarshal(line, r); err != nil {
			return nil, fmt.Errorf("result of a run: %w", err)
		}
		return r, nil
	}
	return nil, s.gone(errors.Join(s.lines.Err(), io.ErrUnexpectedEOF))
}

// gone says why the process does not answer.
func (s *side) gone(err error) error {
	err = errors.Join(err, s.end()) // all that it said is there then
	lines := strings.Split(strings.TrimSpace(s.errors.String()), "\n")
	return fmt.Errorf("%s ended before its runs: %s: %w", s.cmd.Path, lines[len(lines)-1], err)
}

// end waits for the process, which ends after its runs or without another line.
func (s *side) end() error {
	if s.ended {
		return nil
	}
	s.ended = true
	// The process may be gone, and then so is the pipe.
	_ = s.pace.Close()
	for s.lines.Scan() {
	}
	return s.cmd.Wait()
}

// list returns the works that a program can do.
func list(ctx context.Context, program string) ([]string, error) {
	out, err := exec.CommandContext(ctx, program, "list").Output()
	return strings.Fields(string(out)), err
}
