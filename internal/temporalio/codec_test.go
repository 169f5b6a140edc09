package temporalio

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/lightmem/lightmem/internal/secret"
)

func master(t testing.TB, fill byte) *secret.Master {
	t.Helper()
	m, err := secret.New(bytes.Repeat([]byte{fill}, secret.MasterBytes))
	require.NoError(t, err)
	return m
}

func of(tenant string) converter.SerializationContext {
	return converter.WorkflowSerializationContext{WorkflowID: "turn/" + tenant + "/u_1/c_1/k_1"}
}

func TestCodec(t *testing.T) {
	t.Parallel()
	const text = "I moved to Lisbon"
	plain := []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(text)}}
	forTenant := func(m *secret.Master, tenant string) converter.PayloadCodec {
		return NewCodec(m).(converter.PayloadCodecWithSerializationContext).WithSerializationContext(of(tenant))
	}
	sealed := func(t *testing.T) *commonpb.Payload {
		out, err := forTenant(master(t, 1), "t_a").Encode(plain)
		require.NoError(t, err)
		return out[0]
	}

	t.Run("hides the text and tells the key, not the tenant's own name", func(t *testing.T) {
		t.Parallel()
		p := sealed(t)
		require.NotContains(t, p.String(), "Lisbon")
		require.Equal(t, "1/t_a", string(p.Metadata[metadataKey]))
	})
	t.Run("reads what it wrote from any context", func(t *testing.T) {
		t.Parallel()
		for _, c := range []converter.PayloadCodec{forTenant(master(t, 1), "t_a"), forTenant(master(t, 1), "t_b"), NewCodec(master(t, 1))} {
			out, err := c.Decode([]*commonpb.Payload{sealed(t)})
			require.NoError(t, err)
			require.True(t, proto.Equal(plain[0], out[0]))
		}
	})
	t.Run("never gives two payloads the same bytes", func(t *testing.T) {
		t.Parallel()
		require.NotEqual(t, sealed(t).Data, sealed(t).Data)
	})
	for name, spoil := range map[string]func(*commonpb.Payload){
		"altered data":           func(p *commonpb.Payload) { p.Data[len(p.Data)-1] ^= 1 },
		"another tenant's key":   func(p *commonpb.Payload) { p.Metadata[metadataKey] = []byte("1/t_b") },
		"no key id":              func(p *commonpb.Payload) { delete(p.Metadata, metadataKey) },
		"truncated to the nonce": func(p *commonpb.Payload) { p.Data = p.Data[:4] },
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			p := sealed(t)
			spoil(p)
			_, err := NewCodec(master(t, 1)).Decode([]*commonpb.Payload{p})
			require.Error(t, err)
		})
	}
	t.Run("refuses another installation's master key", func(t *testing.T) {
		t.Parallel()
		_, err := NewCodec(master(t, 2)).Decode([]*commonpb.Payload{sealed(t)})
		require.Error(t, err)
	})
	t.Run("lets the server's own payloads pass", func(t *testing.T) {
		t.Parallel()
		out, err := NewCodec(master(t, 1)).Decode(plain)
		require.NoError(t, err)
		require.Equal(t, plain, out)
	})
}

func FuzzCodecDecodeNeverPanics(f *testing.F) {
	f.Add("1/t_a", []byte("x"))
	f.Fuzz(func(t *testing.T, key string, data []byte) {
		p := &commonpb.Payload{Data: data, Metadata: map[string][]byte{metadataEncoding: []byte(encodingEncrypted), metadataKey: []byte(key)}}
		if _, err := NewCodec(master(t, 1)).Decode([]*commonpb.Payload{p}); err == nil {
			t.Fatal("decoded what nobody encrypted")
		}
	})
}

func TestFailuresAreEncrypted(t *testing.T) {
	t.Parallel()
	failure := FailureConverter(master(t, 1)).ErrorToFailure(errText("user said: my PIN is 1234"))
	require.NotContains(t, failure.String(), "1234")
	require.Contains(t, FailureConverter(master(t, 1)).FailureToError(failure).Error(), "1234")
}

type errText string

func (e errText) Error() string { return string(e) }
