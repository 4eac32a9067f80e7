package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeCommands runs what README.md tells people to paste, in a shell, with
// this binary as the gateway. Commands that go on for ever are ended with Ctrl-C
// once they have printed something.
func TestReadmeCommands(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	sections := regexp.MustCompile(`(?m)^## `).Split(string(readme), -1)
	section := func(title string) string {
		for _, s := range sections {
			if strings.HasPrefix(s, title) {
				return s
			}
		}
		require.Fail(t, "README.md has no section "+title)
		return ""
	}
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "gateway")))
	sh := &shell{t: t, dir: dir, env: append(os.Environ(), asGateway+"=1", "PATH="+dir+":"+os.Getenv("PATH"))}

	for _, line := range commandsOf(section("A table of your own")) {
		line = strings.ReplaceAll(line, "/tmp/warehouse", filepath.Join(dir, "warehouse"))
		switch {
		case strings.HasPrefix(line, "go build"):
		case strings.HasPrefix(line, "export "):
			sh.env = append(sh.env, strings.TrimPrefix(line, "export "))
		case strings.Contains(line, " tail "):
			require.Contains(t, sh.untilOutput(line), "id=1")
		default:
			require.NotEmpty(t, sh.run(line), line)
		}
	}
	require.Contains(t, sh.run("./gateway read shop.items --json"), `{"id":1,"name":"cup","price":"5.00"}`)

	// A warehouse that somebody else writes, in a shell of its own.
	sh = &shell{t: t, dir: dir, env: append(os.Environ(), asGateway+"=1", "PATH="+dir+":"+os.Getenv("PATH"))}
	flink := section("A warehouse that Flink writes")
	other := filepath.Join(dir, "paimon")
	for _, name := range []string{"default.orders", "default.payments"} {
		sh.run("./gateway table create " + name + " -w " + other + " --column 'id INT NOT NULL' --pk id --set bucket=1 --set changelog-producer=input")
		sh.run(`echo '{"id":1}' | ./gateway write ` + name + " -w " + other)
	}
	yaml := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(flink)[1]
	yaml = strings.ReplaceAll(yaml, "/data/paimon", other)
	addr := freeAddress(t)
	yaml = strings.ReplaceAll(strings.ReplaceAll(yaml, "127.0.0.1:7070", addr), "127.0.0.1:7071", "127.0.0.1:0")
	writeFile(t, filepath.Join(dir, "sluice.yaml"), yaml)
	var server *exec.Cmd
	for _, line := range commandsOf(flink) {
		switch {
		case strings.HasSuffix(line, "--check"):
			require.Contains(t, sh.run(line), "is good")
		case strings.Contains(line, " serve "):
			server, _ = sh.start(line)
		case strings.Contains(line, " tail "):
			require.Contains(t, sh.untilOutput(line+" --server "+addr), "id=1")
		}
	}
	require.NotNil(t, server)
	sh.interrupt(server)
}

// commandsOf returns the lines of the code blocks without a language.
func commandsOf(section string) []string {
	var out []string
	for _, block := range regexp.MustCompile("(?s)```(\\w*)\n(.*?)```").FindAllStringSubmatch(section, -1) {
		if block[1] != "" {
			continue
		}
		for _, line := range strings.Split(strings.ReplaceAll(block[2], "\\\n", " "), "\n") {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, line)
			}
		}
	}
	return out
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

type shell struct {
	t   *testing.T
	dir string
	env []string
}

func (s *shell) command(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = s.dir, s.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func (s *shell) run(line string) string {
	s.t.Helper()
	out, err := s.command(line).CombinedOutput()
	require.NoError(s.t, err, "%s: %s", line, out)
	return string(out)
}

// start starts a command and waits for its first line.
func (s *shell) start(line string) (*exec.Cmd, string) {
	s.t.Helper()
	cmd := s.command(line)
	out, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	cmd.Stderr = os.Stderr
	require.NoError(s.t, cmd.Start())
	s.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may have ended
		}
	})
	first := make([]byte, 4096)
	n, err := out.Read(first)
	require.NoError(s.t, err, line)
	return cmd, string(first[:n])
}

// interrupt sends Ctrl-C to the command's group and expects it to end well.
func (s *shell) interrupt(cmd *exec.Cmd) {
	s.t.Helper()
	require.NoError(s.t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
	err := cmd.Wait()
	if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGINT {
		return // the shell itself, which waited for the gateway
	}
	require.NoError(s.t, err)
}

func (s *shell) untilOutput(line string) string {
	s.t.Helper()
	cmd, first := s.start(line)
	s.interrupt(cmd)
	return first
}
