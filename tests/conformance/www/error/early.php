<?php

throw new RuntimeException('before any output');
