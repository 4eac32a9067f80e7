package local

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"sluice/objstore"
)

// BenchmarkPublish is the I/O of a commit: five small metadata files, then the
// snapshot under a new name, then the hint. "plain" is the same by hand with
// every file synced, the measure of what a commit may cost.
func BenchmarkPublish(b *testing.B) {
	content := make([]byte, 1500)
	b.Run("plain/in turn", func(b *testing.B) {
		dir := b.TempDir()
		n := 0
		for b.Loop() {
			for range 7 {
				n++
				plainWrite(b, filepath.Join(dir, fmt.Sprint(n)), content)
			}
		}
	})
	b.Run("plain/parallel", func(b *testing.B) {
		dir := b.TempDir()
		n := 0
		for b.Loop() {
			var wg sync.WaitGroup
			for range 7 {
				n++
				path := filepath.Join(dir, fmt.Sprint(n))
				wg.Go(func() { plainWrite(b, path, content) })
			}
			wg.Wait()
		}
	})
	for name, opts := range map[string]Options{"store": {}, "store/no sync": {NoSync: true}} {
		b.Run(name, func(b *testing.B) {
			s := New(b.TempDir(), opts)
			n := 0
			batch := make([]objstore.Object, 5)
			for b.Loop() {
				n++
				for i := range batch {
					batch[i] = objstore.Object{Name: fmt.Sprintf("t/manifest/manifest-%d-%d", n, i), Data: content}
				}
				if err := s.PutAll(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
				if err := s.PutIfAbsent(b.Context(), fmt.Sprintf("t/snapshot/snapshot-%d", n), content); err != nil {
					b.Fatal(err)
				}
				if err := s.PutHint(b.Context(), "t/snapshot/LATEST", fmt.Append(nil, n)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func plainWrite(b *testing.B, path string, content []byte) {
	f, err := os.Create(path)
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		b.Error(err)
	}
}
