<?php

highlight_string('<?php echo 1;');
