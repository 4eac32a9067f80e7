package objstore

import (
	"strings"
	"unicode/utf8"
)

// NameMaxBytes bounds the length of a name: that of a path on Linux and more
// than S3 takes (1,024).
const NameMaxBytes = 4095

// CheckName tells whether name can name an object: no leading or trailing slash,
// no empty, "." or ".." segment, no NUL, valid UTF-8, at most [NameMaxBytes]
// long. Names come from manifests and users, so every store checks every name.
// The error is a [*NameError].
func CheckName(name string) error {
	if reason := nameFault(name); reason != "" {
		return &NameError{Name: name, Reason: reason}
	}
	return nil
}

// CheckDir is [CheckName] for a folder; the empty text is the root.
func CheckDir(dir string) error {
	if dir == "" {
		return nil
	}
	return CheckName(dir)
}

func nameFault(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > NameMaxBytes:
		return "is longer than 4095 bytes"
	case strings.IndexByte(name, 0) >= 0:
		return "holds a NUL"
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case name[0] == '/':
		return "begins with a slash"
	}
	for rest := name; ; {
		segment, more, found := strings.Cut(rest, "/")
		switch segment {
		case "":
			return "has an empty segment"
		case ".", "..":
			return "has the segment " + segment
		}
		if !found {
			return ""
		}
		rest = more
	}
}

// NameOfURI returns the name, in a store whose root is the root of the file
// system, of what a table calls "file:/x/y", "file:///x/y" or "/x/y": "x/y".
// Percent signs are kept, as Paimon writes paths unescaped. Any other scheme or
// a host is a [*NameError].
func NameOfURI(uri string) (string, error) {
	path := uri
	if scheme, rest, ok := cutScheme(uri); ok {
		if !strings.EqualFold(scheme, "file") {
			return "", &NameError{Name: uri, Reason: "scheme " + scheme + " is not supported, use a file: path"}
		}
		path = rest
		if strings.HasPrefix(path, "//") {
			host, _, _ := strings.Cut(path[2:], "/")
			if host != "" && host != "localhost" {
				return "", &NameError{Name: uri, Reason: "names the host " + host}
			}
			path = path[2+len(host):]
		}
	}
	if !strings.HasPrefix(path, "/") {
		return "", &NameError{Name: uri, Reason: "is not absolute"}
	}
	name := strings.Trim(path, "/")
	if err := CheckName(name); err != nil {
		return "", err
	}
	return name, nil
}

// cutScheme splits "scheme:rest"; a colon after a slash belongs to a path.
func cutScheme(uri string) (scheme, rest string, ok bool) {
	i := strings.IndexAny(uri, ":/")
	if i <= 0 || uri[i] != ':' {
		return "", uri, false
	}
	return uri[:i], uri[i+1:], true
}

// SplitName returns the folder of a name ("" is the root) and its last segment.
func SplitName(name string) (dir, base string) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

// JoinName joins a folder, which may be "", and a name below it.
func JoinName(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
