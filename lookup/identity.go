package lookup

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The folder of an index holds a file that says what the index is, and the
// database of its present generation. A rebuild makes a new generation beside
// the old one and then replaces this file, which is the moment that it counts.
//
//	IDENTITY              a line of JSON and a line with its CRC-32C
//	g<generation>/        the database of pages
//	g<generation>.log/    the log, where the values are
//	g<generation>.tmp/    tables that are not part of the database yet
const identityName = "IDENTITY"

// identityBytesMax bounds what is read of an identity file.
const identityBytesMax = 64 << 10

type identity struct {
	Format     int    `json:"format"`
	Index      ID     `json:"index"`
	Spec       string `json:"spec"`       // fingerprint, hexadecimal
	Generation string `json:"generation"` // 16 hexadecimal digits
}

func crcOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func (d identity) append(dst []byte) ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	dst = append(append(dst, text...), '\n')
	return fmt.Appendf(dst, "%08x\n", crcOf(text)), nil
}

// parseIdentity reads an identity file. An unknown format comes without an
// error, and without more than the format.
func parseIdentity(b []byte) (identity, error) {
	text, sum, ok := bytes.Cut(b, []byte{'\n'})
	if !ok || string(sum) != fmt.Sprintf("%08x\n", crcOf(text)) {
		return identity{}, fmt.Errorf("%s: checksum", identityName)
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return identity{}, fmt.Errorf("%s: %w", identityName, err)
	}
	if head.Format != formatVersion {
		return identity{Format: head.Format}, nil
	}
	var d identity
	if err := json.Unmarshal(text, &d); err != nil {
		return identity{}, fmt.Errorf("%s: %w", identityName, err)
	}
	if g, err := hex.DecodeString(d.Generation); err != nil || len(g) != 8 {
		return identity{}, fmt.Errorf("%s: generation %q", identityName, d.Generation)
	}
	return d, nil
}

// readIdentity reads the identity file of a folder.
func readIdentity(fs vfs.FS, folder string) (identity, error) {
	f, err := fs.Open(fs.PathJoin(folder, identityName))
	if err != nil {
		return identity{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, identityBytesMax+1))
	if err != nil {
		return identity{}, err
	}
	if len(b) > identityBytesMax {
		return identity{}, fmt.Errorf("%s: more than %d bytes", identityName, identityBytesMax)
	}
	return parseIdentity(b)
}

// writeIdentity replaces the identity file of a folder; it is durable on return.
func writeIdentity(fs vfs.FS, folder string, d identity) error {
	b, err := d.append(nil)
	if err != nil {
		return err
	}
	name := fs.PathJoin(folder, identityName)
	f, err := fs.Create(name+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err := fs.Rename(name+".tmp", name); err != nil {
		return err
	}
	return syncDir(fs, folder)
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}
