package runner

import (
	"errors"
	"os"
	"path/filepath"

	"sluice/lookup"
	"sluice/tablewriter"
)

// Env is what all cases of a process share: the cache of lookup indexes and the
// limit of compactions.
type Env struct {
	dir         string
	cache       *lookup.Cache
	compactions *tablewriter.Compactions
}

// memoryDir is a folder that is kept in memory where there is one: what is made
// durable for each case has not to be.
const memoryDir = "/dev/shm"

// NewEnv returns an environment whose indexes are kept in a new folder below dir;
// "": in memory, or else the system's folder for temporary files.
func NewEnv(dir string) (*Env, error) {
	if info, err := os.Stat(memoryDir); dir == "" && err == nil && info.IsDir() {
		dir = memoryDir
	}
	dir, err := os.MkdirTemp(dir, "sluice-cases-*")
	if err != nil {
		return nil, err
	}
	e := &Env{dir: dir, compactions: tablewriter.NewCompactions(tablewriter.CompactionLimits{})}
	if err := e.open(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return e, nil
}

func (e *Env) open() (err error) {
	e.cache, err = lookup.OpenCache(lookup.Options{Dir: filepath.Join(e.dir, "index")})
	return err
}

// Close closes the indexes and deletes them.
func (e *Env) Close() error {
	var err error
	if e.cache != nil {
		err = e.cache.Close()
	}
	return errors.Join(err, os.RemoveAll(e.dir))
}
