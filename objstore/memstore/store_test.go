package memstore

import (
	"testing"

	"sluice/objstore"
	"sluice/objstore/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) objstore.Store { return New(Options{}) })
}
