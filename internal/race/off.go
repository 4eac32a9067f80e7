//go:build !race

package race

const enabled = 0
