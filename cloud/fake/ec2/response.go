package ec2

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

const (
	ec2Version   = "2016-11-15"
	ec2Namespace = "http://ec2.amazonaws.com/doc/2016-11-15/"
	timestamp    = "2006-01-02T15:04:05.000Z"
	gib          = 1 << 30
)

// answer represents the response to a request that succeeds. begin sets the request's ID and
// returns the XML namespace.
type answer interface{ begin(id string) string }

// head holds the first fields of every response of EC2.
type head struct {
	RequestID string `xml:"requestId"`
}

func (h *head) begin(id string) string {
	h.RequestID = id
	return ec2Namespace
}

// stsHead holds the fields that all responses of STS share.
type stsHead struct {
	RequestID string `xml:"ResponseMetadata>RequestId"`
}

func (h *stsHead) begin(id string) string {
	h.RequestID = id
	return stsNamespace
}

type doneAnswer struct {
	head

	Return bool `xml:"return"`
}

type tag struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

func tagSet(tags map[string]string) []tag {
	out := make([]tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, tag{Key: key, Value: tags[key]})
	}
	return out
}

type snapshotAnswer struct {
	head
	snapshotItem
}

type snapshotsAnswer struct {
	head

	Items []snapshotItem `xml:"snapshotSet>item"`
	Next  string         `xml:"nextToken,omitempty"`
}

type copyAnswer struct {
	head

	ID   string `xml:"snapshotId"`
	Tags []tag  `xml:"tagSet>item"`
}

type snapshotItem struct {
	ID          string `xml:"snapshotId"`
	Volume      string `xml:"volumeId"`
	State       string `xml:"status"`
	Message     string `xml:"statusMessage,omitempty"`
	Started     string `xml:"startTime"`
	Progress    string `xml:"progress"`
	Owner       string `xml:"ownerId"`
	Size        int64  `xml:"volumeSize"`
	Description string `xml:"description"`
	Encrypted   bool   `xml:"encrypted"`
	KMSKey      string `xml:"kmsKeyId,omitempty"`
	Tags        []tag  `xml:"tagSet>item"`
}

func describeSnapshot(s fake.Snapshot) snapshotItem {
	volume := s.Source
	if s.IsCopy {
		volume = "vol-ffffffff" // As EC2 does; there is no such volume.
	}
	return snapshotItem{
		ID: s.ID, Volume: volume, State: snapshotState(s.State), Message: s.Message,
		Started: s.Created.UTC().Format(timestamp), Progress: fmt.Sprintf("%d%%", s.Progress),
		Owner: s.Account, Size: s.SizeBytes / gib, Description: s.Description,
		Encrypted: s.Encrypted, KMSKey: s.KMSKey, Tags: tagSet(s.Tags),
	}
}

// snapshotState returns EC2's name of a state. EC2 fixes the point in time at once.
func snapshotState(s cloud.State) string {
	switch s {
	case cloud.StateReady:
		return "completed"
	case cloud.StateFailed:
		return "error"
	default:
		return "pending"
	}
}

type volumesAnswer struct {
	head

	Items []volumeItem `xml:"volumeSet>item"`
	Next  string       `xml:"nextToken,omitempty"`
}

type volumeItem struct {
	ID         string       `xml:"volumeId"`
	Size       int64        `xml:"size"`
	Snapshot   string       `xml:"snapshotId"`
	Zone       string       `xml:"availabilityZone"`
	State      string       `xml:"status"`
	Created    string       `xml:"createTime"`
	Attached   []attachment `xml:"attachmentSet>item"`
	Tags       []tag        `xml:"tagSet>item"`
	Type       string       `xml:"volumeType"`
	IOPS       int64        `xml:"iops,omitempty"`
	Throughput int64        `xml:"throughput,omitempty"`
	Encrypted  bool         `xml:"encrypted"`
	KMSKey     string       `xml:"kmsKeyId,omitempty"`
	Multi      bool         `xml:"multiAttachEnabled"`
}

type attachment struct {
	Volume   string `xml:"volumeId"`
	Instance string `xml:"instanceId"`
	Device   string `xml:"device"`
	State    string `xml:"status"`
}

func describeVolume(v fake.Volume) volumeItem {
	out := volumeItem{
		ID: v.ID, Size: v.SizeBytes / gib, Snapshot: v.From, Zone: v.Zone, State: "available",
		Created: v.Created.UTC().Format(timestamp), Tags: tagSet(v.Tags), Type: v.Type,
		IOPS: v.IOPS, Throughput: v.Throughput, Encrypted: v.Encrypted, KMSKey: v.KMSKey,
	}
	if v.Attached {
		out.State = "in-use"
		out.Attached = []attachment{{Volume: v.ID, Instance: "i-00000000000000001", Device: "/dev/xvdaa", State: "attached"}}
	}
	return out
}
