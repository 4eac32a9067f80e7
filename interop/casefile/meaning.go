package casefile

import (
	"regexp"
	"strings"
)

// The meanings of errors, by which those of two engines are compared.
const (
	MeansFirstRowRetract = "first-row takes no retract"
	MeansPartialRetract  = "partial-update takes no retract"
	MeansRetract         = "no retraction: " // and the function
	MeansZero            = "division by zero"
	MeansEndless         = "a quotient without end"
	MeansOverflow        = "overflow"
	MeansNull            = "NULL in a NOT NULL column"
)

var retraction = regexp.MustCompile(`'?(\w+)'? does not support retraction`)

// Meaning returns what an error's text means, whoever wrote it; the text itself if
// it is none of the known ones.
func Meaning(text string) string {
	switch {
	case strings.Contains(text, "First row merge engine can not accept"), strings.Contains(text, "merge engine first-row does not accept"):
		return MeansFirstRowRetract
	case strings.Contains(text, "Partial update can not accept delete"), strings.Contains(text, "merge engine partial-update does not accept"):
		return MeansPartialRetract
	case strings.Contains(text, "by zero"):
		return MeansZero
	case strings.Contains(text, "Non-terminating decimal expansion"), strings.Contains(text, "the quotient has no end"):
		return MeansEndless
	case strings.Contains(text, "overflow"):
		return MeansOverflow
	case strings.Contains(text, "Cannot write null to non-null column"):
		return MeansNull
	}
	if m := retraction.FindStringSubmatch(text); m != nil {
		return MeansRetract + m[1]
	}
	for _, m := range []string{MeansFirstRowRetract, MeansPartialRetract, MeansZero, MeansEndless, MeansOverflow, MeansNull} {
		if strings.Contains(text, m) {
			return m
		}
	}
	if i := strings.Index(text, MeansRetract); i >= 0 {
		return strings.TrimSpace(text[i:])
	}
	return text
}
