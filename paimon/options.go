package paimon

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are the options of a table as text (format section 13). Keys that are
// not known are kept and mean nothing. The getters return the default of an
// option that is not set; an option without a default then reads as the zero
// value, and [Options.Has] tells.
type Options map[string]string

// Lookup returns the value that is set for the option, under its own name or one
// of its former names.
func (o Options) Lookup(key string) (value string, ok bool) {
	if value, ok = o[key]; ok {
		return value, true
	}
	if d := optionOf(key); d != nil {
		for _, former := range d.former {
			if value, ok = o[former]; ok {
				return value, true
			}
		}
	}
	return "", false
}

// Has tells whether the option is set.
func (o Options) Has(key string) bool {
	_, ok := o.Lookup(key)
	return ok
}

// Text returns the value of the option or else its default.
func (o Options) Text(key string) string {
	if v, ok := o.Lookup(key); ok {
		return v
	}
	if d := optionOf(key); d != nil {
		return d.byDefault
	}
	return ""
}

// List returns the value of an option that is a comma separated list, trimmed.
func (o Options) List(key string) []string { return splitNames(o.Text(key)) }

// Int returns the value of a 32-bit integer option.
func (o Options) Int(key string) (int, error) {
	text := o.Text(key)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, &OptionError{Key: key, Value: text, Want: "an integer of 32 bits"}
	}
	return int(n), nil
}

// Long returns the value of a 64-bit integer option.
func (o Options) Long(key string) (int64, error) {
	text := o.Text(key)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, &OptionError{Key: key, Value: text, Want: "an integer of 64 bits"}
	}
	return n, nil
}

// Float returns the value of an option with a fraction.
func (o Options) Float(key string) (float64, error) {
	text := o.Text(key)
	if text == "" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, &OptionError{Key: key, Value: text, Want: "a number"}
	}
	return x, nil
}

// Bool returns the value of a boolean option.
func (o Options) Bool(key string) (bool, error) {
	switch text := o.Text(key); strings.ToLower(text) {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	default:
		return false, &OptionError{Key: key, Value: text, Want: "true or false"}
	}
}

// Duration returns the value of a duration option.
func (o Options) Duration(key string) (time.Duration, error) {
	text := o.Text(key)
	if text == "" {
		return 0, nil
	}
	d, err := ParseDuration(text)
	if err != nil {
		return 0, &OptionError{Key: key, Value: text, Want: "a duration such as '1 h', '30 s' or '500 ms'"}
	}
	return d, nil
}

// Memory returns the value of a memory size option in bytes.
func (o Options) Memory(key string) (bytes int64, err error) {
	text := o.Text(key)
	if text == "" {
		return 0, nil
	}
	n, err := ParseMemory(text)
	if err != nil {
		return 0, &OptionError{Key: key, Value: text, Want: "a memory size such as '64 kb', '128 mb' or '1 gb'"}
	}
	return n, nil
}

// Enum returns the value of an option with a fixed set of values, in lower case.
func (o Options) Enum(key string) (string, error) {
	text := o.Text(key)
	d := optionOf(key)
	if d == nil || len(d.values) == 0 {
		return strings.ToLower(text), nil
	}
	value := strings.ToLower(text)
	if value == "" && d.byDefault == "" || slices.Contains(d.values, value) {
		return value, nil
	}
	return "", &OptionError{Key: key, Value: text, Want: "one of " + strings.Join(d.values, ", ")}
}

// Check reads the value of every known option that is set, so that a mistake is
// found before it is stored.
func (o Options) Check() error {
	for _, key := range sortedKeys(o) {
		d := optionOf(key)
		if d == nil {
			continue
		}
		if err := o.check(d); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) check(d *optionDef) error {
	var err error
	switch d.kind {
	case kindInt:
		_, err = o.Int(d.key)
	case kindLong:
		_, err = o.Long(d.key)
	case kindFloat:
		_, err = o.Float(d.key)
	case kindBool:
		_, err = o.Bool(d.key)
	case kindDuration:
		_, err = o.Duration(d.key)
	case kindMemory:
		_, err = o.Memory(d.key)
	case kindEnum:
		_, err = o.Enum(d.key)
	case kindText, kindList, kindMap:
	default:
		err = fmt.Errorf("option %s has kind %d", d.key, d.kind)
	}
	if err == nil && d.kind != kindText && d.kind != kindList && d.kind != kindMap && strings.TrimSpace(o.Text(d.key)) == "" && o.Has(d.key) {
		err = &OptionError{Key: d.key, Value: o.Text(d.key), Want: "a value"}
	}
	return err
}

// Map returns an option that is a map: either one value "k:v,k:v", or an option
// a key with the option's name as prefix. Both may be set; the latter wins.
func (o Options) Map(key string) (map[string]string, error) {
	m := make(map[string]string)
	text := o.Text(key)
	for _, part := range splitNames(text) {
		k, v, ok := strings.Cut(part, ":")
		if !ok {
			return nil, &OptionError{Key: key, Value: text, Want: "a map such as 'k1:v1,k2:v2'"}
		}
		m[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	for k, v := range o {
		if name, ok := strings.CutPrefix(k, key+"."); ok && name != "" {
			m[name] = v
		}
	}
	return m, nil
}

// ChangelogDecoupled tells whether changelogs live longer than snapshots
// (format section 3.5).
func (o Options) ChangelogDecoupled() (bool, error) {
	for _, pair := range [][2]string{
		{OptChangelogNumRetainedMin, OptSnapshotNumRetainedMin},
		{OptChangelogNumRetainedMax, OptSnapshotNumRetainedMax},
	} {
		if !o.Has(pair[0]) {
			continue
		}
		changelog, err := o.Int(pair[0])
		if err != nil {
			return false, err
		}
		snapshot, err := o.Int(pair[1])
		if err != nil {
			return false, err
		}
		if changelog > snapshot {
			return true, nil
		}
	}
	if !o.Has(OptChangelogTimeRetained) {
		return false, nil
	}
	changelog, err := o.Duration(OptChangelogTimeRetained)
	if err != nil {
		return false, err
	}
	snapshot, err := o.Duration(OptSnapshotTimeRetained)
	return changelog > snapshot, err
}

// splitNames splits a comma separated list and trims its parts; empty ones are
// left out.
func splitNames(s string) []string {
	var names []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			names = append(names, part)
		}
	}
	return names
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
