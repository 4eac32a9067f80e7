// Package config reads the one YAML document that configures a gateway and
// checks it whole before anything starts.
//
// Reading is strict: an unknown key is refused with its line and column. After
// the file the environment is laid over it: the variable SLUICE_<PATH>, with the
// keys of the path in capitals and "-" as "_", replaces a scalar
// (SLUICE_LISTEN_GRPC=127.0.0.1:0 for listen.grpc). Packages below never see
// this document; [sluice/internal/server] turns it into their options.
package config
