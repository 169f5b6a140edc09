package prompts

// Spoken is one utterance as a prompt shows it.
type Spoken struct {
	Speaker string
	Text    string
}

// Fit makes a call with as much as fits the model's context. call gets how many
// of the n parts to leave out, the least important first (the oldest of a
// conversation); while the error is one that tooLong knows, it is called again
// with half of the rest left out, until nothing is left to leave out.
func Fit(n int, tooLong func(error) bool, call func(skip int) error) error {
	skip := 0
	for {
		err := call(skip)
		if err == nil || skip >= n || !tooLong(err) {
			return err
		}
		skip += (n - skip + 1) / 2
	}
}
