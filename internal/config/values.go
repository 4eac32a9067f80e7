package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time span written like 250ms, 5s or 1h30m.
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(strings.TrimSpace(string(b)))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a duration: write 250ms, 5s or 1h", b)
	}
	*d = Duration(v)
	return nil
}

// Size is a number of bytes written like 64mb, 512 kb or 1gb (powers of 1024).
type Size int64

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"tb", 1 << 40}, {"b", 1}, {"", 1}}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(b []byte) error {
	text := strings.ToLower(strings.TrimSpace(string(b)))
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > (1<<62)/u.bytes {
			break
		}
		*s = Size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("%q is not a size: write 512kb, 64mb or 1gb", b)
}
