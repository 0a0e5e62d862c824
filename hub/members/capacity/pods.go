package capacity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	resourcehelper "k8s.io/component-helpers/resource"
)

const (
	// podPage is the number of pods in a page of the list.
	podPage = 500
	// maxPodPage bounds the size of a page, in bytes. Pods have a few thousand each.
	maxPodPage = 64 << 20
	// usesNodes selects the pods that are on a node and have not ended.
	usesNodes = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
)

var (
	errPageTooLarge = errors.New("a page of pods is too large")
	errNoProtobuf   = errors.New("the response is no protobuf message")
)

// Requested returns the sum of the cpu and memory that the pods on the nodes of a cluster request, and
// their number; nil if the credentials must not list pods. The client is one for core/v1.
//
// The list is paged, with a consistent read. With resourceVersion 0, API servers ignore the limit and
// send all pods at once.
func Requested(ctx context.Context, core rest.Interface) (corev1.ResourceList, error) {
	total := newRequests()
	options := metav1.ListOptions{Limit: podPage, FieldSelector: usesNodes}
	for {
		page, err := readPods(ctx, core, options)
		if apierrors.IsForbidden(err) {
			return nil, nil
		}
		if err == nil {
			options.Continue, err = total.addPage(page)
		}
		if err != nil {
			return nil, fmt.Errorf("listing pods: %w", err)
		}
		if options.Continue == "" {
			total.sum[corev1.ResourcePods] = *resource.NewQuantity(total.pods, resource.DecimalSI)
			return total.sum, nil
		}
	}
}

// readPods returns a page of pods, as protobuf: it is half as large as JSON, and fields are skipped
// without a look at their contents.
func readPods(ctx context.Context, core rest.Interface, options metav1.ListOptions) ([]byte, error) {
	body, err := core.Get().Resource("pods").VersionedParams(&options, scheme.ParameterCodec).
		SetHeader("Accept", runtime.ContentTypeProtobuf).Stream(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(body, maxPodPage+1))
	closed := body.Close()
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading a page: %w", err)
	case len(raw) > maxPodPage:
		return nil, errPageTooLarge
	case closed != nil:
		return nil, fmt.Errorf("closing a page: %w", closed)
	}
	return raw, nil
}

// Numbers of fields of protobuf messages.
const (
	rawOfUnknown   protowire.Number = 2
	metadataOfList protowire.Number = 1
	itemsOfList    protowire.Number = 2
	specOfPod      protowire.Number = 2
)

// requests are the sum of the cpu and memory that pods request, and their number.
type requests struct {
	sum  corev1.ResourceList
	pods int64
	// wanted are the fields of a spec to decode.
	wanted fields
	// pruned, pod and each are used again for each pod.
	pruned []byte
	pod    corev1.Pod
	each   corev1.ResourceList
}

func newRequests() *requests {
	return &requests{wanted: aboutRequests(), sum: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(0, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(0, resource.BinarySI),
	}}
}

// addPage adds the pods of a list, and returns the token of the next page.
func (r *requests) addPage(raw []byte) (next string, err error) {
	message, is := bytes.CutPrefix(raw, []byte("k8s\x00"))
	if !is {
		return "", errNoProtobuf
	}
	err = eachField(message, func(number protowire.Number, list []byte) error {
		if number != rawOfUnknown {
			return nil
		}
		return eachField(list, func(number protowire.Number, value []byte) error {
			if number == itemsOfList {
				r.pods++
				return eachField(value, r.addSpec)
			}
			if number != metadataOfList {
				return nil
			}
			var metadata metav1.ListMeta
			err := metadata.Unmarshal(value)
			next = metadata.Continue
			return err
		})
	})
	return next, err
}

// addSpec adds the requests of a pod, if the field is its spec.
func (r *requests) addSpec(number protowire.Number, spec []byte) (err error) {
	if number != specOfPod {
		return nil
	}
	if r.pruned, err = r.wanted.prune(r.pruned[:0], spec); err != nil {
		return err
	}
	r.pod.Spec = corev1.PodSpec{}
	if err := r.pod.Spec.Unmarshal(r.pruned); err != nil {
		return err
	}
	r.each = resourcehelper.PodRequests(&r.pod, resourcehelper.PodResourcesOptions{Reuse: r.each})
	delete(r.each, corev1.ResourcePods)
	r.sum = sum(r.sum, r.each)
	return nil
}

// eachField calls a function with each field of a protobuf message that has a length.
func eachField(message []byte, call func(number protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		number, kind, length := protowire.ConsumeField(message)
		if length < 0 {
			return protowire.ParseError(length)
		}
		if kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(message)
			value, _ := protowire.ConsumeBytes(message[tag:])
			if err := call(number, value); err != nil {
				return err
			}
		}
		message = message[length:]
	}
	return nil
}

// fields selects fields of a protobuf message by their numbers. Of a field with fields, only these are
// selected, otherwise all of it.
type fields map[protowire.Number]fields

// aboutRequests returns the fields of the spec of a pod that decide on requests. Nine tenths of a pod
// are others.
func aboutRequests() fields {
	resources := fields{2: nil}                                        // requests
	container := fields{8: resources, 24: nil}                         // resources, restartPolicy
	return fields{2: container, 20: container, 32: nil, 40: resources} // containers, initContainers, overhead, resources
}

// prune appends the selected fields of a message to another one.
func (f fields) prune(to, message []byte) ([]byte, error) {
	err := eachField(message, func(number protowire.Number, value []byte) (err error) {
		inner, selected := f[number]
		switch {
		case !selected:
			return nil
		case inner != nil:
			if value, err = inner.prune(nil, value); err != nil {
				return err
			}
		}
		to = protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), value)
		return nil
	})
	return to, err
}
