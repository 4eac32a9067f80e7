package lookup

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options of a [Cache]. The zero value of each field but Dir is its default.
type Options struct {
	// Dir is the cache folder. Each process takes a slot of its own in it (a
	// numbered folder that it locks), so that a writer and a compactor beside it
	// never share an index, and finds that slot again after a restart.
	Dir string
	// PageBytes bounds what is held in memory of the pages of all indexes: whole
	// pages, about 15 bytes a key, of indexes all of whose pages fit, and the places
	// of the pages, about half a byte a key, of the others; 32 MiB if 0.
	PageBytes int64
	// BlockCacheBytes bounds the blocks of the databases that are held in memory,
	// which say where pages are whose places are not held; 8 MiB if 0.
	BlockCacheBytes int64
	// RecentBytes bounds the committed changes of all indexes that are not in
	// their databases yet; 16 MiB if 0. What is beyond is written at the next
	// commit, the largest index first. A crash loses what was not written: the
	// index is then that of an older snapshot.
	RecentBytes int64
	// StageBytes is how much a stage holds in memory; 8 MiB if 0. What is
	// beyond goes to a file beside the index.
	StageBytes int64
	// OpenIndexesMax is how many databases are open at a time; 16 if 0. Beyond
	// it the least recently used is closed, and opened again by its next use.
	OpenIndexesMax int
	// OpenFilesMax bounds the open files of all indexes; 256 if 0.
	OpenFilesMax int
	// IdleClose is how long an index is unused before CloseIdle closes its
	// database; 10 minutes if 0.
	IdleClose time.Duration
	// ProcessesMax is how many processes may use Dir at a time; 8 if 0.
	ProcessesMax int
	// Now is the clock; time.Now if nil.
	Now func() time.Time

	// fs is where files are kept; the disk if nil. Tests put a file system there
	// that forgets what was not synced, or fails.
	fs vfs.FS
	// log is when a log begins a segment, is cleaned and is brought into pages.
	// Tests make these small.
	log logLimits
}

// logLimits are bounds of the log of an index, in bytes.
type logLimits struct {
	segmentMin int64 // a segment is larger only if the log has many
	garbageMin int64 // less is not cleaned
	tailMax    int64 // since the last push: what is restored after a crash
	pagesApart int64 // so many pages have segments of their own
}

var defaultLogLimits = logLimits{segmentMin: 32 << 20, garbageMin: 64 << 20, tailMax: 64 << 20, pagesApart: 4096}

const (
	defaultPageBytes       = 32 << 20
	defaultBlockCacheBytes = 8 << 20
	defaultRecentBytes     = 16 << 20
	defaultStageBytes      = 8 << 20
	defaultOpenIndexes     = 16
	defaultOpenFiles       = 256
	defaultIdleClose       = 10 * time.Minute
	defaultProcesses       = 8
)

func (o Options) withDefaults() Options {
	if o.PageBytes == 0 {
		o.PageBytes = defaultPageBytes
	}
	if o.BlockCacheBytes == 0 {
		o.BlockCacheBytes = defaultBlockCacheBytes
	}
	if o.RecentBytes == 0 {
		o.RecentBytes = defaultRecentBytes
	}
	if o.StageBytes == 0 {
		o.StageBytes = defaultStageBytes
	}
	if o.OpenIndexesMax == 0 {
		o.OpenIndexesMax = defaultOpenIndexes
	}
	if o.OpenFilesMax == 0 {
		o.OpenFilesMax = defaultOpenFiles
	}
	if o.IdleClose == 0 {
		o.IdleClose = defaultIdleClose
	}
	if o.ProcessesMax == 0 {
		o.ProcessesMax = defaultProcesses
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.fs == nil {
		o.fs = vfs.Default
	}
	if o.log == (logLimits{}) {
		o.log = defaultLogLimits
	}
	return o
}

// Validate tells what is wrong with the options.
func (o Options) Validate() error {
	if o.Dir == "" {
		return errors.New("lookup options: no Dir")
	}
	for _, f := range []struct {
		name string
		v    int64
	}{
		{"PageBytes", o.PageBytes},
		{"BlockCacheBytes", o.BlockCacheBytes},
		{"RecentBytes", o.RecentBytes},
		{"StageBytes", o.StageBytes},
		{"OpenIndexesMax", int64(o.OpenIndexesMax)},
		{"OpenFilesMax", int64(o.OpenFilesMax)},
		{"IdleClose", int64(o.IdleClose)},
		{"ProcessesMax", int64(o.ProcessesMax)},
	} {
		if f.v < 0 {
			return fmt.Errorf("lookup options: %s is %d, less than 0", f.name, f.v)
		}
	}
	if o.StageBytes > stageBytesMax {
		return fmt.Errorf("lookup options: StageBytes is %d, more than %d", o.StageBytes, stageBytesMax)
	}
	if o.RecentBytes > recentBytesMax {
		return fmt.Errorf("lookup options: RecentBytes is %d, more than %d", o.RecentBytes, recentBytesMax)
	}
	return nil
}

// Runs address their bytes with 32 bits.
const (
	stageBytesMax  = 1 << 30
	recentBytesMax = 1 << 30
)
