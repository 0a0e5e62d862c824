package s3

import (
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"strings"
	"time"
)

// listing is a page of a list.
type listing struct {
	XMLName           xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
	Name              string   `xml:"Name"`
	Prefix            string   `xml:"Prefix"`
	ContinuationToken string   `xml:"ContinuationToken,omitempty"`
	Next              string   `xml:"NextContinuationToken,omitempty"`
	KeyCount          int      `xml:"KeyCount"`
	MaxKeys           int      `xml:"MaxKeys"`
	IsTruncated       bool     `xml:"IsTruncated"`
	Contents          []listed `xml:"Contents"`
}

type listed struct {
	Key          string `xml:"Key"`
	LastModified string `xml:"LastModified"`
	ETag         string `xml:"ETag"`
	Size         int64  `xml:"Size"`
	StorageClass string `xml:"StorageClass"`
}

// list handles ListObjectsV2.
func (s *Server) list(w http.ResponseWriter, in *request) *fault {
	query := in.URL.Query()
	if query.Get("list-type") != "2" {
		return notImplemented("a GET of the bucket that is no list of type 2")
	}
	after := ""
	if token := query.Get("continuation-token"); query.Has("continuation-token") {
		raw, err := base64.URLEncoding.DecodeString(token)
		key, ok := strings.CutPrefix(string(raw), tokenBegin)
		if err != nil || !ok {
			return refuse(http.StatusBadRequest, "InvalidArgument", "The continuation token provided is incorrect")
		}
		after = key
	}
	s.mu.Lock()
	size := s.pages
	s.mu.Unlock()
	page, more := s.store.Page(query.Get("prefix"), after, size)
	out := listing{
		Name: in.bucket, Prefix: query.Get("prefix"), ContinuationToken: query.Get("continuation-token"),
		KeyCount: len(page), MaxKeys: pageSize, IsTruncated: more && len(page) > 0,
	}
	for _, o := range page {
		out.Contents = append(out.Contents, listed{
			Key: o.Key, LastModified: o.ModifiedAt.UTC().Format(time.RFC3339), ETag: etag(o), Size: o.Bytes, StorageClass: "STANDARD",
		})
		if out.IsTruncated {
			out.Next = base64.URLEncoding.EncodeToString([]byte(tokenBegin + o.Key))
		}
	}
	writeXML(w, http.StatusOK, out)
	return nil
}

// tokenBegin is the prefix of valid continuation tokens.
const tokenBegin = "after:"
