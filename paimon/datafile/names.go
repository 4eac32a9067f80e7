package datafile

import (
	"regexp"
	"strconv"
	"strings"
)

// textFormats may have a compression behind them: data-1-0.json.gz.
var textFormats = map[string]bool{"json": true, "csv": true, "text": true}

// textCompressions are the endings of compressed text files.
var textCompressions = map[string]bool{
	"gz": true, "gzip": true, "zst": true, "zstd": true, "bz2": true, "bzip2": true, "deflate": true, "snappy": true, "lz4": true, "lzo": true, "xz": true,
}

// compactedPrefix marks the format of changelog files that were put together
// from several: cc-parquet.
const compactedPrefix = "cc-"

// FormatOf returns the format that the name of a file says: the text behind the
// last dot, but for the compression of text files and the prefix of compacted
// changelog files (format sections 9.2 and 10.3). "" if there is none.
func FormatOf(fileName string) string {
	name, ext, ok := cutLast(fileName)
	if !ok {
		return ""
	}
	if textCompressions[ext] {
		if _, before, ok := cutLast(name); ok && textFormats[before] {
			return before
		}
	}
	return strings.TrimPrefix(ext, compactedPrefix)
}

func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

// compressionEndings are those that differ from the name of the compression.
var compressionEndings = map[string]string{"zstd": "zst", "gzip": "gz", "bzip2": "bz2", "none": "", "null": ""}

// extension returns what follows the name given by the caller.
func (o *Options) extension() string {
	if !o.NameCompression {
		return "." + o.Format
	}
	name := strings.ToLower(o.Compression)
	ending, other := compressionEndings[name]
	if !other {
		ending = name
	}
	if ending == "" {
		return "." + o.Format
	}
	return "." + ending + "." + o.Format
}

// Location says where the bytes of a file are.
type Location struct {
	Name      string // of the file that is there
	BucketDir string // its folder beside those of other buckets; "": the folder of the entry's own bucket
	Offset    int64
	Length    int64 // bytes; -1: the whole file
}

var compactedName = regexp.MustCompile(`^(.*\$(0|[1-9][0-9]*)-(0|[1-9][0-9]*))(?:-(0|[1-9][0-9]*)-(0|[1-9][0-9]*))?(\.cc-[^.]+)$`)

// Resolve returns where the bytes of the file of a manifest entry are. Compacted
// changelog files (format section 10.3) are ranges of one file in the folder of
// one bucket, and their names do not exist as files; all others are what their
// name says.
func Resolve(fileName string) Location {
	m := compactedName.FindStringSubmatch(fileName)
	if m == nil {
		return Location{Name: fileName, Length: -1}
	}
	var bad error
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			bad = err
		}
		return n
	}
	loc := Location{Name: m[1] + m[6], BucketDir: "bucket-" + m[2], Length: number(m[3])}
	if m[4] != "" {
		loc.Offset, loc.Length = number(m[4]), number(m[5])
	}
	if bad != nil {
		return Location{Name: fileName, Length: -1}
	}
	return loc
}
