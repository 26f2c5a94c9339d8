<?php echo headers_sent() ? "sent" : "not sent";
