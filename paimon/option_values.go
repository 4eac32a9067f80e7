package paimon

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads digits, an optional space and a unit (format section 13);
// without a unit they are milliseconds.
func ParseDuration(s string) (time.Duration, error) {
	n, unit, err := splitQuantity(s)
	if err != nil {
		return 0, err
	}
	var scale time.Duration
	switch unit {
	case "d", "day", "days":
		scale = 24 * time.Hour
	case "h", "hour", "hours":
		scale = time.Hour
	case "min", "m", "minute", "minutes":
		scale = time.Minute
	case "s", "sec", "secs", "second", "seconds":
		scale = time.Second
	case "", "ms", "milli", "millis", "millisecond", "milliseconds":
		scale = time.Millisecond
	case "µs", "μs", "micro", "micros", "microsecond", "microseconds":
		scale = time.Microsecond
	case "ns", "nano", "nanos", "nanosecond", "nanoseconds":
		scale = time.Nanosecond
	default:
		return 0, fmt.Errorf("unit %q is not known", unit)
	}
	if n > math.MaxInt64/int64(scale) {
		// The original counts in seconds and so reaches further; nothing that waits
		// or retains can tell 292 years from more.
		return math.MaxInt64, nil
	}
	return time.Duration(n) * scale, nil
}

// ParseMemory reads digits, an optional space and a unit, powers of 1024
// (format section 13); without a unit they are bytes.
func ParseMemory(s string) (bytes int64, err error) {
	n, unit, err := splitQuantity(s)
	if err != nil {
		return 0, err
	}
	shift := 0
	switch unit {
	case "", "b", "bytes":
	case "k", "kb", "kibibytes":
		shift = 10
	case "m", "mb", "mebibytes":
		shift = 20
	case "g", "gb", "gibibytes":
		shift = 30
	case "t", "tb", "tebibytes":
		shift = 40
	default:
		return 0, fmt.Errorf("unit %q is not known", unit)
	}
	if n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("more than %d bytes", int64(math.MaxInt64))
	}
	return n << shift, nil
}

// splitQuantity cuts a number from its unit, which is put in lower case.
func splitQuantity(s string) (n int64, unit string, err error) {
	s = strings.TrimSpace(s)
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if end == 0 {
		return 0, "", fmt.Errorf("no digits at the beginning")
	}
	n, err = strconv.ParseInt(s[:end], 10, 64)
	if err != nil {
		return 0, "", fmt.Errorf("number is too big")
	}
	return n, strings.ToLower(strings.TrimSpace(s[end:])), nil
}
