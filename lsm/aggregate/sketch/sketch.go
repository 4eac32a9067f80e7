package sketch

import (
	"errors"
	"fmt"
	"strings"
)

// Union joins serialised values of one form. It belongs to one goroutine.
type Union interface {
	// Union appends the serialised union of a and b to dst.
	Union(dst, a, b []byte) ([]byte, error)
}

// ErrCorrupt says that bytes are no value of the form.
var ErrCorrupt = errors.New("bytes are not a serialised value")

// ErrUnsupported says that values cannot be joined: bitmaps of 64 bits with more than
// 32768 containers, and some sketches whose sizes differ.
var ErrUnsupported = errors.New("such values cannot be joined yet")

// New returns the union of a form: rbm32, rbm64, hll_sketch or theta_sketch; nil
// for another name.
func New(form string) Union {
	switch form {
	case "rbm32":
		return bitmap32{}
	case "rbm64":
		return bitmap64{}
	case "hll_sketch":
		return hllUnion{}
	case "theta_sketch":
		return thetaUnion{}
	}
	return nil
}

// guard turns a panic of a library that met bytes it cannot read into an error.
func guard(form string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: %v: %w", form, p, ErrCorrupt)
	}
}

func corrupt(form string, err error) error {
	// What the library says of sketches that it cannot join; it has no value for
	// the error.
	if strings.HasPrefix(err.Error(), "not implemented") {
		return fmt.Errorf("%s: sketches of different sizes: %w", form, ErrUnsupported)
	}
	return fmt.Errorf("%s: %w: %w", form, err, ErrCorrupt)
}
