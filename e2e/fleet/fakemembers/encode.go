package fakemembers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// maxBody is the size of the largest request body.
const maxBody = 3 << 20

// form is how a client wants objects.
type form int

const (
	asJSON form = iota
	asProtobuf
	// asMetadata is JSON with nothing but the metadata.
	asMetadata
)

// formOf returns the form that a request asks for first, of an object of the kind.
func formOf(r *http.Request, kind schema.GroupVersionKind) form {
	first, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	switch {
	case strings.Contains(first, "as=PartialObjectMetadata"):
		return asMetadata
	case strings.HasPrefix(first, runtime.ContentTypeProtobuf) && scheme.Scheme.Recognizes(kind):
		return asProtobuf
	}
	return asJSON
}

// contentType returns the media type of a form.
func (f form) contentType() string {
	if f == asProtobuf {
		return runtime.ContentTypeProtobuf
	}
	return runtime.ContentTypeJSON
}

// encode returns an object in a form. Protobuf is kept, because a hub that restarts asks for it again.
func (o *object) encode(f form) ([]byte, error) {
	switch f {
	case asMetadata:
		return metadataOf(o.raw)
	case asProtobuf:
		var err error
		o.encoding.Do(func() { o.protobuf, err = toProtobuf(o.raw) })
		if o.protobuf == nil && err == nil {
			err = errUnsupported // It failed before.
		}
		return o.protobuf, err
	case asJSON:
	}
	return o.raw, nil
}

// toProtobuf converts JSON of a kind of Kubernetes to protobuf.
func toProtobuf(raw []byte) ([]byte, error) {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, fmt.Errorf("decoding a kind: %w", err)
	}
	typed, err := scheme.Scheme.New(kind.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("creating a %s: %w", kind.Kind, err)
	}
	if err := json.Unmarshal(raw, typed); err != nil {
		return nil, fmt.Errorf("decoding a %s: %w", kind.Kind, err)
	}
	var encoded bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(typed, &encoded); err != nil {
		return nil, fmt.Errorf("encoding a %s: %w", kind.Kind, err)
	}
	return encoded.Bytes(), nil
}

// metadataOf returns a PartialObjectMetadata of an object as JSON.
func metadataOf(raw []byte) ([]byte, error) {
	var object struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("decoding metadata: %w", err)
	}
	return fmt.Appendf(nil, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":%s}`, object.Metadata), nil
}

// body reads a request's body.
func body(r *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("reading a request: %w", err)
	}
	return raw, nil
}

// decodeBody decodes a request's body, which is JSON, YAML or protobuf.
func decodeBody(r *http.Request) (*unstructured.Unstructured, error) {
	raw, err := body(r)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), runtime.ContentTypeProtobuf) {
		decoded, kind, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("decoding protobuf: %w", err)
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(decoded)
		if err != nil {
			return nil, fmt.Errorf("converting %s: %w", kind.Kind, err)
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(*kind)
		return u, nil
	}
	if raw, err = yaml.YAMLToJSON(raw); err != nil {
		return nil, fmt.Errorf("decoding YAML: %w", err)
	}
	u := &unstructured.Unstructured{} // A merge patch has no kind.
	if err := utiljson.Unmarshal(raw, &u.Object); err != nil {
		return nil, fmt.Errorf("decoding JSON: %w", err)
	}
	return u, nil
}

// deleteOptions decodes the body of a deletion, which may be empty.
func deleteOptions(r *http.Request) (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	raw, err := body(r)
	if err != nil || len(raw) == 0 {
		return options, err
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), runtime.ContentTypeProtobuf) {
		var unknown runtime.Unknown
		// The first four bytes mark an encoded object of Kubernetes.
		if err := unknown.Unmarshal(raw[min(4, len(raw)):]); err != nil {
			return nil, fmt.Errorf("decoding protobuf: %w", err)
		}
		if err := options.Unmarshal(unknown.Raw); err != nil {
			return nil, fmt.Errorf("decoding protobuf: %w", err)
		}
		return options, nil
	}
	if err := json.Unmarshal(raw, options); err != nil {
		return nil, fmt.Errorf("decoding JSON: %w", err)
	}
	return options, nil
}
