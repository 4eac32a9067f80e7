package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// EnvPrefix begins the name of every environment variable that replaces a key.
const EnvPrefix = "SLUICE_"

// Load reads a configuration file, lays the environment over it, fills in the
// defaults and validates the result. Environment is a list of NAME=value, as
// os.Environ gives it.
func Load(file string, environment []string) (*Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c, err := Parse(data, environment)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// Parse is [Load] of the content of a file.
func Parse(data []byte, environment []string) (*Config, error) {
	c := &Config{}
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	if err := dec.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	if err := c.overlay(environment); err != nil {
		return nil, err
	}
	c.SetDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c, nil
}

// overlay replaces scalars by environment variables. A variable with our prefix
// that names no key is refused, as an unknown key is.
func (c *Config) overlay(environment []string) error {
	fields := map[string]reflect.Value{}
	scalars(reflect.ValueOf(c).Elem(), strings.TrimSuffix(EnvPrefix, "_"), fields)
	for _, pair := range environment {
		name, value, _ := strings.Cut(pair, "=")
		if rest, ours := strings.CutPrefix(name, EnvPrefix); !ours || foreign(rest) {
			continue
		}
		f, ok := fields[name]
		if !ok {
			return fmt.Errorf("environment variable %s names no configuration key", name)
		}
		if err := setScalar(f, value); err != nil {
			return fmt.Errorf("environment variable %s: %w", name, err)
		}
	}
	return nil
}

// foreign tells whether a variable with our prefix is not one of the configuration:
// the token of a client's command, what tests need, and what Kubernetes puts into
// every pod beside a service named sluice.
func foreign(rest string) bool {
	return rest == "TOKEN" || rest == "PORT" || slices.ContainsFunc([]string{"TEST_", "SERVICE_", "PORT_"}, func(prefix string) bool {
		return strings.HasPrefix(rest, prefix)
	})
}

// scalars collects the settable scalars of a struct by variable name. Feeds are
// a list and have no names.
func scalars(v reflect.Value, prefix string, out map[string]reflect.Value) {
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("yaml")
		name := prefix + "_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			scalars(f, name, out)
		case reflect.Slice, reflect.Pointer:
		default:
			out[name] = f
		}
	}
}

func setScalar(f reflect.Value, value string) error {
	if t, ok := f.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return t.UnmarshalText([]byte(value))
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(value)
	case reflect.Bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is not true or false", value)
		}
		f.SetBool(b)
	case reflect.Int:
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", value)
		}
		f.SetInt(int64(n))
	default:
		return fmt.Errorf("a %s cannot be set from the environment", f.Kind())
	}
	return nil
}
