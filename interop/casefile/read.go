package casefile

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// LineBytesMax bounds a line of a file of histories.
const LineBytesMax = 64 << 20

// Histories yields the histories of a file, .jsonl or .jsonl.zst, one a line. The
// first error ends it.
func Histories(file string) iter.Seq2[*History, error] {
	return func(yield func(*History, error) bool) {
		f, err := os.Open(file)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		var in io.Reader = f
		if strings.HasSuffix(file, ".zst") {
			d, err := zstd.NewReader(f)
			if err != nil {
				yield(nil, fmt.Errorf("%s: %w", filepath.Base(file), err))
				return
			}
			defer d.Close()
			in = d
		}
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, LineBytesMax)
		for n := 1; lines.Scan(); n++ {
			h, err := ParseHistory(lines.Bytes())
			if err != nil {
				err = fmt.Errorf("%s:%d: %w", filepath.Base(file), n, err)
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, fmt.Errorf("%s: %w", filepath.Base(file), err))
		}
	}
}
