<?php

exit('page');
