package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"os"
	"strings"

	"google.golang.org/grpc/metadata"

	"sluice/feeds"
	"sluice/feeds/httpapi"
)

// tokens are the bearer tokens that may connect; nil: everybody may.
type tokens [][32]byte

// loadTokens reads a file of tokens, one a line.
func loadTokens(file string) (tokens, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("auth.tokens-file: %w", err)
	}
	var all tokens
	for line := range strings.SplitSeq(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(line) < tokenLengthMin {
			return nil, fmt.Errorf("auth.tokens-file %s: a token of %d characters is too short: want %d", file, len(line), tokenLengthMin)
		}
		all = append(all, sha256.Sum256([]byte(line)))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("auth.tokens-file %s: no tokens", file)
	}
	return all, nil
}

// tokenLengthMin keeps out tokens that can be guessed.
const tokenLengthMin = 16

// check tells whether the text of an authorization header is good. It takes the
// same time whatever is wrong.
func (t tokens) check(header string) error {
	if t == nil {
		return nil
	}
	token, ok := strings.CutPrefix(header, "Bearer ")
	sum := sha256.Sum256([]byte(token))
	found := 0
	for _, want := range t {
		found |= subtle.ConstantTimeCompare(sum[:], want[:])
	}
	if !ok || found == 0 {
		return &feeds.AuthError{Why: "send a bearer token of this gateway in the header authorization"}
	}
	return nil
}

// middleware refuses HTTP requests without a good token.
func (t tokens) middleware(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := t.check(r.Header.Get("Authorization")); err != nil {
			httpapi.WriteProblem(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// authorize is the gRPC server's check of a call.
func (t tokens) authorize(ctx context.Context, _, _ string) error {
	if t == nil {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	header := ""
	if v := md.Get("authorization"); len(v) > 0 {
		header = v[0]
	}
	return t.check(header)
}
