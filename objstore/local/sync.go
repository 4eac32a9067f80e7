package local

import (
	"fmt"
	"os"
	"sync"
)

// folderSyncs lets callers share the fsync of a folder. One that runs already is
// of no use to a caller, whose rename may have come after it began; but all
// callers that wait for it share the next one.
type folderSyncs struct {
	mu      sync.Mutex
	folders map[string]*folderSync // those with a round
}

type folderSync struct {
	running *syncRound
	next    *syncRound // its first caller waits for running and then runs it
}

type syncRound struct {
	done chan struct{}
	err  error // set before done is closed
}

// do returns when an fsync of the folder has ended that began after the call.
func (f *folderSyncs) do(path string, fsync func(string) error) error {
	f.mu.Lock()
	state := f.folders[path]
	if state == nil {
		if f.folders == nil {
			f.folders = map[string]*folderSync{}
		}
		state = &folderSync{}
		f.folders[path] = state
	}
	if round := state.next; round != nil {
		f.mu.Unlock()
		<-round.done
		return round.err
	}
	round := &syncRound{done: make(chan struct{})}
	if running := state.running; running != nil {
		state.next = round
		f.mu.Unlock()
		<-running.done
		f.mu.Lock()
		state.next = nil
	}
	state.running = round
	f.mu.Unlock()

	round.err = fsync(path)

	f.mu.Lock()
	state.running = nil
	if state.next == nil {
		delete(f.folders, path)
	}
	f.mu.Unlock()
	close(round.done)
	return round.err
}

// syncDir makes the names in a folder durable.
func (s *Store) syncDir(path string) error {
	if s.opts.NoSync {
		return nil
	}
	return s.syncs.do(path, fsyncDir)
}

func fsyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync folder %s: %w", path, cause(err))
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder %s: %w", path, cause(err))
	}
	return nil
}
