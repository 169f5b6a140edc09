// Package secret holds the one master key of an installation and what is
// derived from it: pseudonyms for everything that is written in clear (workflow
// ids, search attributes) and data keys for payloads.
//
// Keys are derived by HKDF (RFC 5869) from the master key, the tenant and a
// version, so that a worker on a GPU machine needs no database to decrypt its
// work. docs/decisions/payload-keys.md weighs this against stored keys.
package secret

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/lightmem/lightmem/memory"
)

// MasterBytes is the size of a master key.
const MasterBytes = 32

// Master is an installation's master key. Use Load, LoadOrCreate or New.
type Master struct {
	pseudonyms []byte
	payloads   []byte

	mu   sync.RWMutex
	keys map[string][]byte // derived payload keys by name; bounded by maxKeys
}

// maxKeys bounds the cache of derived keys; deriving one takes microseconds.
const maxKeys = 4096

// New makes a master from 32 bytes of key material.
func New(key []byte) (*Master, error) {
	if len(key) != MasterBytes {
		return nil, memory.Invalid("master_key", "must have %d bytes, has %d", MasterBytes, len(key))
	}
	pseudonyms, err := hkdf.Key(sha256.New, key, nil, "lightmem/pseudonyms/1", 32)
	if err != nil {
		return nil, fmt.Errorf("derive pseudonym key: %w", err)
	}
	payloads, err := hkdf.Key(sha256.New, key, nil, "lightmem/payloads/1", 32)
	if err != nil {
		return nil, fmt.Errorf("derive payload key: %w", err)
	}
	return &Master{pseudonyms: pseudonyms, payloads: payloads, keys: map[string][]byte{}}, nil
}

// Load reads a master key from a file of 64 hexadecimal digits. It refuses a
// file that others than its owner may read.
func Load(path string) (*Master, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, memory.Wrap(memory.CodeInvalid, err, "read the master key file (set master_key_file, or run `make up`, which makes one)")
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, memory.Invalid("master_key_file", "is readable by others; run chmod 600 on it")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, memory.Wrap(memory.CodeInvalid, err, "read the master key file")
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, memory.Invalid("master_key_file", "does not hold %d hexadecimal digits", 2*MasterBytes)
	}
	return New(key)
}

// Open reads the master key. Only in the state folder is one made when there is
// none: a path that somebody named and mistyped must not make a second key,
// with which nothing can be read.
func Open(path, stateDir string) (*Master, error) {
	if filepath.Dir(filepath.Clean(path)) == filepath.Clean(stateDir) {
		return LoadOrCreate(path)
	}
	return Load(path)
}

// LoadOrCreate reads the master key, and makes one when the file does not
// exist. Two processes that create it at once end up with the same key.
func LoadOrCreate(path string) (*Master, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil {
			return nil, err
		}
	}
	return Load(path)
}

// create writes a fresh key beside path and links it into place: the link
// fails when somebody else was first, and a reader never sees half a file.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return memory.Wrap(memory.CodeInternal, err, "create the master key's folder")
	}
	key := make([]byte, MasterBytes)
	if _, err := rand.Read(key); err != nil {
		return fmt.Errorf("make master key: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".master-*") // mode 0600
	if err != nil {
		return memory.Wrap(memory.CodeInternal, err, "create the master key file")
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return memory.Wrap(memory.CodeInternal, err, "write the master key file")
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return memory.Wrap(memory.CodeInternal, err, "put the master key file in place")
	}
	return nil
}

var pseudonymEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// Pseudonym is a keyed, one-way name for the parts: the same parts give the
// same name, and nobody without the key can tell or guess them. Parts are
// length-prefixed, so that ("a","b/c") and ("a/b","c") differ (mem0#6892).
func (m *Master) Pseudonym(kind string, parts ...string) string {
	mac := hmac.New(sha256.New, m.pseudonyms)
	for _, p := range append([]string{kind}, parts...) {
		fmt.Fprintf(mac, "%d:%s", len(p), p)
	}
	return kind + "_" + pseudonymEncoding.EncodeToString(mac.Sum(nil)[:15])
}

// Tenant is a tenant's pseudonym.
func (m *Master) Tenant(t memory.TenantID) string { return m.Pseudonym("t", string(t)) }

// User is a user's pseudonym.
func (m *Master) User(s memory.Scope) string {
	return m.Pseudonym("u", string(s.Tenant), string(s.User))
}

// Conversation is a conversation's pseudonym.
func (m *Master) Conversation(s memory.Scope, c memory.ConversationID) string {
	return m.Pseudonym("c", string(s.Tenant), string(s.User), string(c))
}

// Key is the pseudonym of an idempotency key.
func (m *Master) Key(s memory.Scope, c memory.ConversationID, key string) string {
	return m.Pseudonym("k", string(s.Tenant), string(s.User), string(c), key)
}

// PayloadKey returns the AES-256 key of the given name, for example
// "1/t_4x…" (version and tenant pseudonym).
func (m *Master) PayloadKey(name string) ([]byte, error) {
	m.mu.RLock()
	key, ok := m.keys[name]
	m.mu.RUnlock()
	if ok {
		return key, nil
	}
	key, err := hkdf.Key(sha256.New, m.payloads, nil, "payload/"+name, 32)
	if err != nil {
		return nil, fmt.Errorf("derive payload key: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.keys) >= maxKeys {
		clear(m.keys)
	}
	m.keys[name] = key
	return key, nil
}
