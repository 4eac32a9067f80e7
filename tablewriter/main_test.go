package tablewriter

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		os.Exit(crashChild(dir))
	}
	goleak.VerifyTestMain(m)
}
