// Package temporalio joins LightMem to Temporal: the encrypting codec, the
// client's options, and the client side of a turn.
package temporalio

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/lightmem/lightmem/internal/secret"
	"github.com/lightmem/lightmem/memory"
)

// Payload metadata of the codec.
const (
	metadataEncoding  = "encoding"
	metadataKey       = "encryption-key-id"
	encodingEncrypted = "binary/encrypted"
	// keyVersion is the present version of derived keys. It is part of the key
	// id in each payload, so older payloads stay readable after a change.
	keyVersion = "1"
	// installationKey serves payloads that belong to no tenant (schedules).
	installationKey = "installation"
)

// codec encrypts payloads with AES-256-GCM under the tenant's data key. The
// tenant's pseudonym comes from the workflow id; the id of the key is stored
// in the payload, so decoding never depends on where a payload is read.
type codec struct {
	master *secret.Master
	tenant string
}

var (
	_ converter.PayloadCodec                         = (*codec)(nil)
	_ converter.PayloadCodecWithSerializationContext = (*codec)(nil)
)

// NewCodec returns the codec that encrypts all payloads.
func NewCodec(m *secret.Master) converter.PayloadCodec {
	return &codec{master: m, tenant: installationKey}
}

// WithSerializationContext returns the codec for the tenant whose workflow it is.
func (c *codec) WithSerializationContext(ctx converter.SerializationContext) converter.PayloadCodec {
	id := ""
	switch s := ctx.(type) {
	case converter.WorkflowSerializationContext:
		id = s.WorkflowID
	case converter.ActivitySerializationContext:
		id = s.WorkflowID
	}
	parts := strings.SplitN(id, "/", 3)
	if len(parts) == 3 && strings.HasPrefix(parts[1], "t_") {
		return &codec{master: c.master, tenant: parts[1]}
	}
	return c
}

// Encode implements converter.PayloadCodec.
func (c *codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	keyID := keyVersion + "/" + c.tenant
	aead, err := c.aead(keyID)
	if err != nil {
		return nil, err
	}
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, memory.Wrap(memory.CodeInternal, err, "encode payload")
		}
		nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
		if _, err := rand.Read(nonce); err != nil {
			return nil, memory.Wrap(memory.CodeInternal, err, "make nonce")
		}
		out[i] = &commonpb.Payload{
			Metadata: map[string][]byte{metadataEncoding: []byte(encodingEncrypted), metadataKey: []byte(keyID)},
			// The key id is authenticated: a payload moved under another
			// tenant's key id does not decrypt.
			Data: aead.Seal(nonce, nonce, plain, []byte(keyID)),
		}
	}
	return out, nil
}

// Decode implements converter.PayloadCodec. Payloads that are not encrypted
// pass through: the server's own are not.
func (c *codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[metadataEncoding]) != encodingEncrypted {
			out[i] = p
			continue
		}
		keyID := string(p.GetMetadata()[metadataKey])
		aead, err := c.aead(keyID)
		if err != nil {
			return nil, err
		}
		if len(p.GetData()) < aead.NonceSize() {
			return nil, memory.Errorf(memory.CodeInvalid, "decode payload: too short")
		}
		nonce, sealed := p.GetData()[:aead.NonceSize()], p.GetData()[aead.NonceSize():]
		plain, err := aead.Open(nil, nonce, sealed, []byte(keyID))
		if err != nil {
			return nil, memory.Wrap(memory.CodeInvalid, err, "decrypt payload: another master key, or altered data")
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, out[i]); err != nil {
			return nil, memory.Wrap(memory.CodeInvalid, err, "decode payload")
		}
	}
	return out, nil
}

func (c *codec) aead(keyID string) (cipher.AEAD, error) {
	if keyID == "" || len(keyID) > 128 {
		return nil, memory.Errorf(memory.CodeInvalid, "decode payload: no usable key id")
	}
	key, err := c.master.PayloadKey(keyID)
	if err != nil {
		return nil, memory.Wrap(memory.CodeInternal, err, "payload key")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, memory.Wrap(memory.CodeInternal, err, "payload cipher")
	}
	aead, err := cipher.NewGCM(block)
	return aead, memory.Wrap(memory.CodeInternal, err, "payload cipher")
}

// DataConverter encrypts all payloads. They are not compressed: texts are
// short, and a compressed length tells about its content.
func DataConverter(m *secret.Master) converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), NewCodec(m))
}

// FailureConverter encrypts messages and stack traces of failures, too.
func FailureConverter(m *secret.Master) converter.FailureConverter {
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: DataConverter(m), EncodeCommonAttributes: true,
	})
}
