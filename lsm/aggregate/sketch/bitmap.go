package sketch

import (
	"bytes"

	"github.com/RoaringBitmap/roaring/v2"
)

// bitmap32 joins roaring bitmaps of 32 bits in the portable form.
type bitmap32 struct{}

func (bitmap32) Union(dst, a, b []byte) (out []byte, err error) {
	defer guard("rbm32", &err)
	x, err := readBitmap32(a)
	if err != nil {
		return nil, err
	}
	y, err := readBitmap32(b)
	if err != nil {
		return nil, err
	}
	x.Or(y)
	x.RunOptimize()
	to := bytes.NewBuffer(dst)
	if _, err := x.WriteTo(to); err != nil {
		return nil, err
	}
	return to.Bytes(), nil
}

func readBitmap32(b []byte) (*roaring.Bitmap, error) {
	x := roaring.New()
	// A copy: the bytes belong to a batch that is read over.
	if err := x.UnmarshalBinary(bytes.Clone(b)); err != nil {
		return nil, corrupt("rbm32", err)
	}
	if x.IsEmpty() {
		return x, nil
	}
	if err := x.Validate(); err != nil {
		return nil, corrupt("rbm32", err)
	}
	return x, nil
}
