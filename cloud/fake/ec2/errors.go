package ec2

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
)

// fault is why a request is refused.
type fault struct {
	status        int
	code, message string
	sts           bool // In the words of STS.
}

func invalid(code, message string) *fault {
	return &fault{status: http.StatusBadRequest, code: code, message: message}
}

func forbidden(code, message string) *fault {
	return &fault{status: http.StatusForbidden, code: code, message: message}
}

func missing(code, what, id string) *fault {
	return invalid(code, fmt.Sprintf("The %s '%s' does not exist.", what, id))
}

// unauthorized names the permission, as EC2 does since 2023.
func unauthorized(who caller, action string) *fault {
	return forbidden("UnauthorizedOperation", fmt.Sprintf("You are not authorized to perform this operation. "+
		"User: %s is not authorized to perform: ec2:%s because no identity-based policy allows the ec2:%s action", who.arn, action, action))
}

// body returns the body of a fault, and its outermost element.
func (f *fault) body(id string) (any, xml.StartElement) {
	if f.sts {
		return stsErrors{Type: "Sender", Code: f.code, Message: f.message, RequestID: id}, xml.StartElement{
			Name: xml.Name{Local: "ErrorResponse"}, Attr: []xml.Attr{{Name: xml.Name{Local: "xmlns"}, Value: stsNamespace}},
		}
	}
	return ec2Errors{Code: f.code, Message: f.message, RequestID: id}, xml.StartElement{Name: xml.Name{Local: "Response"}}
}

type ec2Errors struct {
	Code      string `xml:"Errors>Error>Code"`
	Message   string `xml:"Errors>Error>Message"`
	RequestID string `xml:"RequestID"`
}

type stsErrors struct {
	Type      string `xml:"Error>Type"`
	Code      string `xml:"Error>Code"`
	Message   string `xml:"Error>Message"`
	RequestID string `xml:"RequestId"`
}

// ErrorBody returns the body of a response with which EC2 refuses a request, for tests that
// refuse requests themselves.
func ErrorBody(code, message string) string { return invalid(code, message).text() }

// STSErrorBody returns the body of an error response of STS.
func STSErrorBody(code, message string) string {
	return (&fault{code: code, message: message, sts: true}).text()
}

func (f *fault) text() string {
	var out strings.Builder
	body, start := f.body("00000000-0000-4000-a000-000000000000")
	// A builder takes everything, and texts can always be written.
	_ = xml.NewEncoder(&out).EncodeElement(body, start)
	return out.String()
}
